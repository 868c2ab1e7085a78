import { TranslationBundle } from '@jupyterlab/translation';
import React, { ReactNode } from 'react';

import { reportErrors } from '../../cluster/dialogs/reportErrors';

/** Shown while a form's initial contents are read. */
export function Reading(props: { trans: TranslationBundle }): JSX.Element {
  return (
    <p className="jp-DtrainUi-note" role="status">
      {props.trans.__('Reading…')}
    </p>
  );
}

/** A form under its heading, beside its check and preview, or between them; and its bar. */
export function FormFrame(props: {
  title: string;
  under: ReactNode;
  oneColumn: boolean;
  report: ReactNode;
  /** The preview; undefined if the form has none. */
  preview?: ReactNode;
  bar: ReactNode;
  /** The form's fields. */
  children: ReactNode;
  whole: (element: HTMLDivElement | null) => void;
  send: () => void;
}): JSX.Element {
  const { oneColumn, report, preview, whole } = props;
  const beside = (key: string, what: ReactNode): JSX.Element => (
    <div key={key} className="jp-DtrainJob-submitReport">
      {what}
    </div>
  );
  const fields = (
    <form
      key="form"
      className="jp-DtrainJob-submitForm"
      onSubmit={event => {
        event.preventDefault();
        props.send();
      }}
    >
      {props.children}
      {/* without a submit button, Enter in a field sends nothing */}
      <button type="submit" hidden />
    </form>
  );
  return (
    <div className="jp-DtrainJob-submit" ref={whole}>
      <div
        className="jp-DtrainJob-submitPages"
        data-columns={oneColumn ? 1 : 2}
      >
        <div className="jp-DtrainJob-submitHead">
          <h1>{props.title}</h1>
          <p className="jp-DtrainUi-under">{props.under}</p>
        </div>
        {oneColumn
          ? [
              beside('check', report),
              fields,
              preview !== undefined && beside('preview', preview)
            ]
          : [
              fields,
              beside(
                'report',
                <>
                  {report}
                  {preview}
                </>
              )
            ]}
      </div>
      {props.bar}
    </div>
  );
}

/** Where a form's contents are from, with a link that discards what was saved for later. */
export function Source(props: {
  /** The sentence; empty if they are the profile's. */
  from: string;
  /** Said where it is empty. */
  usual: string;
  /** Null if there is nothing to discard. */
  discard: (() => Promise<void>) | null;
  trans: TranslationBundle;
}): JSX.Element {
  const { from, usual, discard, trans } = props;
  return (
    <>
      {from || usual}
      {discard && (
        <>
          {' '}
          <button
            type="button"
            className="jp-DtrainUi-link"
            onClick={() => void reportErrors(trans, discard)}
          >
            {trans.__('Discard')}
          </button>
        </>
      )}
    </>
  );
}
