import { LabIcon } from '@jupyterlab/ui-components';
import React, { ReactNode, useEffect, useId, useRef } from 'react';

/** Bars that are in view. */
const shown = new Set<HTMLElement>();
const SHOWN = 'jp-DtrainJob-formShown';

/**
 * JupyterLab's notifications come up where a form's button is, and would take the click that is meant for it: while a
 * bar is in view they come up above it.
 */
function useRoomForToasts(): React.RefObject<HTMLDivElement> {
  const bar = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const node = bar.current!;
    const tell = (): void => {
      const { body } = document;
      const height = Math.max(0, ...[...shown].map(one => one.offsetHeight));
      body.classList.toggle(SHOWN, height > 0);
      body.style.setProperty('--jp-dtrain-formbar', `${height}px`);
    };
    // it has no height while its view is hidden
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

/** The bar of a form: how large what it asks for is; and the button, which says why it is off. */
export function FormBar(props: {
  size: string;
  under: ReactNode;
  /** Why it can't be sent; empty where it can. */
  why: string;
  sending: boolean;
  icon: LabIcon;
  /** On the button, and while it is sent. */
  words: readonly [string, string];
  /** Further class of the button. */
  extra?: string;
  /** Other buttons. */
  children?: ReactNode;
  send: () => void;
}): JSX.Element {
  const { why, sending, words } = props;
  const id = useId();
  const bar = useRoomForToasts();
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
