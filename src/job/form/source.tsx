import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { reportErrors } from '../../cluster/dialogs/reportErrors';

/** Where a form's contents are from, with a link that discards what was saved for later. */
export function Source(props: {
  /** The sentence; empty if they are the profile's. */
  from: string;
  /** Null if there is nothing to discard. */
  discard: (() => Promise<void>) | null;
  trans: TranslationBundle;
}): JSX.Element {
  const { from, discard, trans } = props;
  const usual = trans.__(
    'The job runs without this browser, and without the Jupyter server.'
  );
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
