import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { ILiveState } from '../tokens';
import { formatClock } from '../metrics/format';

/** Time of the latest data, ms: now, or the time of the last frame if the server can't be reached. */
export function latestDataAt(model: ILiveState): number {
  return model.link === 'lost' && model.lastFrameAt
    ? model.lastFrameAt.getTime()
    : Date.now();
}

/** Without a connection to the server, a note with the time of the last update of the displayed jobs. */
export function JobsPast(props: {
  model: ILiveState;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { model, trans } = props;
  if (model.link !== 'lost') {
    return null;
  }
  return (
    <p className="jp-DtrainUi-note" role="status">
      {model.lastFrameAt
        ? trans.__(
            'No connection to the server. This is as of %1; jobs run without it.',
            formatClock(model.lastFrameAt, true)
          )
        : trans.__('No connection to the server. Jobs run without it.')}
    </p>
  );
}
