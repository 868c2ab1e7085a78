import React, { useId } from 'react';

/** A section of the sidebar that can be folded; its heading is a button. */
export function Section(props: {
  title: string;
  note: string;
  open: boolean;
  onToggle: () => void;
  children: React.ReactNode;
}): JSX.Element {
  const id = useId();
  return (
    <section className="jp-DtrainUi-section" aria-labelledby={`${id}-title`}>
      <h2>
        <button
          type="button"
          id={`${id}-title`}
          aria-expanded={props.open}
          aria-controls={`${id}-body`}
          onClick={props.onToggle}
        >
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d={props.open ? 'M4 6l4 4 4-4' : 'M6 4l4 4-4 4'} />
          </svg>
          <span>{props.title}</span>
          <span className="jp-DtrainUi-sectionNote">{props.note}</span>
        </button>
      </h2>
      <div id={`${id}-body`} hidden={!props.open}>
        {props.open && props.children}
      </div>
    </section>
  );
}
