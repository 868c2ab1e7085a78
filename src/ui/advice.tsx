import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Advice, Metrics } from '../tokens';
import { formatRate, formatShare } from './format';
import { Icon } from './icon';

/** The advice to show: one at a time, and none that was dismissed. */
export function adviceOf(
  metrics: Metrics,
  dismissed: (advice: string) => boolean
): Advice | null {
  return metrics.advice.find(a => !dismissed(a.id)) ?? null;
}

/** What would make training faster, by how much and at what price; nothing is changed by itself. */
export function AdviceCard(props: {
  advice: Advice;
  metrics: Metrics;
  onShow: () => void;
  onDismiss: () => void;
  trans: TranslationBundle;
}): JSX.Element {
  const { advice, metrics, trans } = props;
  const { change, cost } = words(advice, trans);
  const rate = metrics.samples_per_s;
  return (
    <aside className="jp-DtrainUi-advice" aria-label={trans.__('Advice')}>
      <Icon kind="advice" />
      <div>
        <p>
          <b>
            {trans.__(
              '%1: about %2 faster',
              change,
              formatShare(advice.gain - 1).replace(' ', '\u00a0')
            )}
          </b>
        </p>
        <p>
          {rate !== null && (
            <>
              {trans.__(
                '%1 → %2 samples/s.',
                formatRate(rate),
                formatRate(rate * advice.gain)
              )}{' '}
            </>
          )}
          {cost}
        </p>
        <p className="jp-DtrainUi-links">
          <button
            type="button"
            className="jp-DtrainUi-link"
            onClick={props.onShow}
          >
            {trans.__('Show the change')}
          </button>
          <button
            type="button"
            className="jp-DtrainUi-link"
            onClick={props.onDismiss}
          >
            {trans.__('Dismiss')}
          </button>
        </p>
      </div>
    </aside>
  );
}

/** Advice in the user's language; the head's English where it is new to us. */
export function words(
  advice: Advice,
  trans: TranslationBundle
): { change: string; cost: string } {
  if (advice.id !== 'accumulate') {
    return advice;
  }
  const batch = Number(advice.values?.batch ?? 0);
  return {
    change: trans.__('Accumulate 2 batches'),
    cost: batch
      ? trans.__('The batch becomes %1.', batch.toLocaleString())
      : trans.__('The batch becomes twice as large.')
  };
}
