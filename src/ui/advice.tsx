import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Advice, Metrics } from '../tokens';
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
  const { change, cost } = words(advice, trans);
  return (
    <p className="jp-Dtrain-advice">
      {trans.__('%1: about %2 faster.', change, formatShare(advice.gain))}{' '}
      {cost}
    </p>
  );
}

/** Advice in the user's language; the head's English where it is new to us. */
function words(
  advice: Advice,
  trans: TranslationBundle
): { change: string; cost: string } {
  if (advice.id !== 'accumulate') {
    return advice;
  }
  const batch = Number(advice.values?.batch ?? 0);
  return {
    change: trans.__(
      'Accumulate twice as many batches before gradients are averaged (%1)',
      'model.no_sync()'
    ),
    cost: batch
      ? trans.__('The batch becomes %1.', batch.toLocaleString())
      : trans.__('The batch becomes twice as large.')
  };
}
