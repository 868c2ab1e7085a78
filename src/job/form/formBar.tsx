import { TranslationBundle } from '@jupyterlab/translation';
import { LabIcon } from '@jupyterlab/ui-components';
import React, { ReactNode, useEffect, useId, useRef } from 'react';

/** Visible bars. */
const shown = new Set<HTMLElement>();
const SHOWN = 'jp-DtrainJob-formShown';

/**
 * JupyterLab's notifications appear over a form's button, and would receive clicks on it; while a bar is
 * visible, they appear above it.
 */
function useToastMargin(): React.RefObject<HTMLDivElement> {
  const bar = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const node = bar.current!;
    const tell = (): void => {
      const { body } = document;
      const height = Math.max(0, ...[...shown].map(one => one.offsetHeight));
      body.classList.toggle(SHOWN, height > 0);
      body.style.setProperty('--jp-dtrain-formbar', `${height}px`);
    };
    // its height is 0 while its view is hidden
    const observer = new ResizeObserver(tell);
    shown.add(node);
    observer.observe(node);
    return () => {
      observer.disconnect();
      shown.delete(node);
      tell();
    };
  }, []);
  return bar;
}

/** The bar of a form: the size of the request, and the button, which says why it is disabled. */
export function FormBar(props: {
  size: string;
  under: ReactNode;
  /** Why it can't be sent; empty if it can. */
  why: string;
  sending: boolean;
  icon: LabIcon;
  /** Labels of the button, normally and while sending. */
  words: readonly [string, string];
  /** Additional class of the button. */
  extra?: string;
  /** Other buttons. */
  children?: ReactNode;
  send: () => void;
}): JSX.Element {
  const { why, sending, words } = props;
  const id = useId();
  const bar = useToastMargin();
  return (
    <div className="jp-DtrainJob-submitBar" ref={bar}>
      <div className="jp-DtrainJob-submitSize">
        <b>{props.size}</b>
        {props.under}
      </div>
      <span className="jp-DtrainUi-under" role="status" id={id}>
        {why}
      </span>
      <div className="jp-DtrainJob-submitActs">
        {props.children}
        <button
          type="button"
          className={`jp-DtrainUi-button jp-DtrainJob-send jp-mod-primary ${props.extra ?? ''}`}
          aria-disabled={!!why || sending}
          aria-describedby={id}
          title={why}
          onClick={props.send}
        >
          <props.icon.react tag="span" />
          {words[sending ? 1 : 0]}
        </button>
      </div>
    </div>
  );
}

/** How a form is saved for later. `saved`: it is saved as it is. */
export interface ISaving {
  saved: boolean;
  save: () => void;
  trans: TranslationBundle;
}

/** The button that saves a form for later. */
export function SaveForLater({ saved, save, trans }: ISaving): JSX.Element {
  return (
    <button type="button" className="jp-DtrainUi-button" onClick={save}>
      {saved ? trans.__('Saved') : trans.__('Save for later')}
    </button>
  );
}
