import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Rank } from '../../tokens';
import { formatShares } from './format';

/**
 * Parts of a step: data, own time, transfer, waiting for slower ranks; shares of the step, adding up to 1.
 */
export interface ISplit {
  /** Waiting for the loader. */
  data: number;
  own: number;
  transfer: number;
  waiting: number;
}

/** Parts of a bar, from left to right. */
const PARTS = ['data', 'own', 'transfer', 'waiting'] as const;
/** Waiting for data below this share of a step counts as the rank's own time. */
const LEAST_DATA = 0.05;

/**
 * Time that a step waits for slower ranks, s: between 0 and all of its communication, of which it is a part;
 * null if unknown. The two are measured separately.
 */
export function waitingOf(
  figures: Pick<Rank, 'step_s' | 'comm_overhead' | 'wait_s'>
): number | null {
  const { step_s, comm_overhead, wait_s } = figures;
  if (wait_s === null || step_s === null) {
    return wait_s;
  }
  return Math.max(0, Math.min((comm_overhead ?? 1) * step_s, wait_s));
}

/**
 * own = step × (1 − overhead) − data, waiting = wait, transfer = the rest; for a rank, or for the world,
 * whose figures are means over its ranks.
 */
export function splitOf(
  figures: Pick<Rank, 'step_s' | 'comm_overhead' | 'wait_s' | 'data_s'>
): ISplit | null {
  const { step_s, comm_overhead, data_s } = figures;
  if (!step_s || comm_overhead === null) {
    return null;
  }
  const waiting = Math.min(comm_overhead, (waitingOf(figures) ?? 0) / step_s);
  const waits = Math.min(1 - comm_overhead, (data_s ?? 0) / step_s);
  const data = waits < LEAST_DATA ? 0 : waits;
  return {
    data,
    own: 1 - comm_overhead - data,
    transfer: comm_overhead - waiting,
    waiting
  };
}

/** A part with its share: "compute 70 %". */
function partText(
  part: keyof ISplit,
  told: string,
  trans: TranslationBundle
): string {
  switch (part) {
    case 'data':
      return trans.__('waiting for data %1', told);
    case 'own':
      return trans.__('compute %1', told);
    case 'transfer':
      return trans.__('transfer %1', told);
    default:
      return trans.__('waiting %1', told);
  }
}

/** The parts that are named, with their texts. */
function named(
  split: ISplit,
  trans: TranslationBundle
): { part: keyof ISplit; text: string }[] {
  const parts = PARTS.filter(part => part !== 'data' || split.data > 0);
  const told = formatShares(parts.map(part => split[part]));
  return parts.map((part, i) => ({
    part,
    text: partText(part, told[i], trans)
  }));
}

/** A step as a bar: orange, grey, blue, hatched orange. */
export function SplitBar(props: {
  split: ISplit;
  trans: TranslationBundle;
}): JSX.Element {
  const { split, trans } = props;
  return (
    <span
      className="jp-DtrainUi-split"
      role="img"
      aria-label={named(split, trans)
        .map(({ text }) => text)
        .join(', ')}
    >
      {PARTS.map(part => (
        <span
          key={part}
          data-part={part}
          style={{ width: `${split[part] * 100}%` }}
        />
      ))}
    </span>
  );
}

/** Legend of a bar, with the shares of its parts. */
export function SplitLegend(props: {
  split: ISplit;
  trans: TranslationBundle;
}): JSX.Element {
  const { split, trans } = props;
  return (
    <span className="jp-DtrainUi-legend">
      {named(split, trans).map(({ part, text }) => (
        <span
          key={part}
          data-part={part}
          title={
            part === 'own'
              ? trans.__(
                  'All of the step but communication and the loader: also a sleep, or reading a file'
                )
              : undefined
          }
        >
          {text}
        </span>
      ))}
    </span>
  );
}
