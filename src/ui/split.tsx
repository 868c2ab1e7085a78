import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Rank } from '../tokens';
import { formatShare } from './format';

/** A step apart: own time, transfer, waiting for slower ranks; shares of the step, adding up to 1. */
export interface ISplit {
  own: number;
  transfer: number;
  waiting: number;
}

/** own = step × (1 − overhead), waiting = wait, transfer = the rest. */
export function splitOf(
  figures: Pick<Rank, 'step_s' | 'comm_overhead' | 'wait_s'>
): ISplit | null {
  const { step_s, comm_overhead, wait_s } = figures;
  if (!step_s || comm_overhead === null) {
    return null;
  }
  const waiting = Math.min(comm_overhead, (wait_s ?? 0) / step_s);
  return {
    own: 1 - comm_overhead,
    transfer: comm_overhead - waiting,
    waiting
  };
}

/** The split of the world: the mean over its ranks. */
export function meanSplit(ranks: readonly Rank[]): ISplit | null {
  const sum: ISplit = { own: 0, transfer: 0, waiting: 0 };
  let count = 0;
  for (const rank of ranks) {
    const split = splitOf(rank);
    if (split) {
      sum.own += split.own;
      sum.transfer += split.transfer;
      sum.waiting += split.waiting;
      count += 1;
    }
  }
  return count
    ? {
        own: sum.own / count,
        transfer: sum.transfer / count,
        waiting: sum.waiting / count
      }
    : null;
}

/** A step as a bar: grey, blue, hatched orange. */
export function SplitBar(props: {
  split: ISplit;
  trans: TranslationBundle;
}): JSX.Element {
  const { split, trans } = props;
  return (
    <span
      className="jp-DtrainUi-split"
      role="img"
      aria-label={trans.__(
        'compute %1, transfer %2, waiting %3',
        formatShare(split.own),
        formatShare(split.transfer),
        formatShare(split.waiting)
      )}
    >
      {(['own', 'transfer', 'waiting'] as const).map(part => (
        <span
          key={part}
          data-part={part}
          style={{ width: `${split[part] * 100}%` }}
        />
      ))}
    </span>
  );
}

/** What the parts of a bar are, and how much. */
export function SplitLegend(props: {
  split: ISplit;
  trans: TranslationBundle;
}): JSX.Element {
  const { split, trans } = props;
  return (
    <span className="jp-DtrainUi-legend">
      <span data-part="own">
        {trans.__('compute %1', formatShare(split.own))}
      </span>
      <span data-part="transfer">
        {trans.__('transfer %1', formatShare(split.transfer))}
      </span>
      <span data-part="waiting">
        {trans.__('waiting %1', formatShare(split.waiting))}
      </span>
    </span>
  );
}
