import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { IClusters } from '../tokens';
import { formatClock } from './figures/format';

/** The time up to which anything is known, ms: now or, without a server, when it was last heard from. */
export function knownUntil(model: IClusters): number {
  return model.link === 'lost' && model.seen
    ? model.seen.getTime()
    : Date.now();
}

/** Says from when jobs in view are, where the server can't be reached; nothing else. */
export function JobsPast(props: {
  model: IClusters;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { model, trans } = props;
  if (model.link !== 'lost') {
    return null;
  }
  return (
    <p className="jp-DtrainUi-note" role="status">
      {model.seen
        ? trans.__(
            'No connection to the server. This is as of %1; jobs run without it.',
            formatClock(model.seen, true)
          )
        : trans.__('No connection to the server. Jobs run without it.')}
    </p>
  );
}
