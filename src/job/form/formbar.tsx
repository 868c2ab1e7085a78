import { LabIcon } from '@jupyterlab/ui-components';
import React, { ReactNode, useId } from 'react';

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
  return (
    <div className="jp-DtrainJob-submitBar">
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
