import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Metrics } from '../tokens';
import { formatShare } from './format';

/** What would make training faster, by how much and at what price; nothing is changed by itself. */
export function AdviceLine(props: {
  metrics: Metrics;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { metrics, trans } = props;
  const advice = metrics.advice[0];
  if (!advice) {
    return null;
  }
  return (
    <p className="jp-Dtrain-advice">
      {trans.__(
        '%1: about %2 faster.',
        advice.change,
        formatShare(advice.gain)
      )}{' '}
      {advice.cost}
    </p>
  );
}
