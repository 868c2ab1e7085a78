import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Cluster, Rank } from '../tokens';
import {
  formatMegabytes,
  formatRate,
  formatShare,
  formatShares,
  formatTime
} from '../metrics/format';
import { partTitle, splitOf } from '../metrics/split';

/** A part of a step; seconds, and its share. */
export interface IPart {
  part:
    'data' | 'own' | 'optimizer' | 'other' | 'asleep' | 'transfer' | 'waiting';
  seconds: number;
  share: number;
}

/**
 * Parts of a step's time, in drawing order; empty if unknown.
 *
 * step = data + compute + transfer + waiting + optimizer + the rest, means over the ranks. Transfer and
 * waiting are the communication that is displayed everywhere else. The other parts are measured separately:
 * if they add up to more than the rest of the step, they are scaled down together. A loop that waits for
 * something else does so in these parts: it is taken out of the rest, and then out of the computation.
 */
export function partsOf(metrics: Cluster['metrics']): IPart[] {
  const { step_s, compute_s } = metrics;
  if (!step_s || compute_s === null) {
    return [];
  }
  const split = splitOf(metrics);
  const transfer = (split?.transfer ?? 0) * step_s;
  const waiting = (split?.waiting ?? 0) * step_s;
  const data = metrics.data_s ?? 0;
  const optimizer = metrics.optimizer_s ?? 0;
  const sum = data + compute_s + optimizer;
  const room = Math.max(0, step_s - transfer - waiting);
  const scale = sum > room ? room / sum : 1;
  const rest = Math.max(0, room - sum);
  const compute = compute_s * scale;
  const asleep = Math.min(metrics.asleep_s ?? 0, rest + compute);
  const known: [IPart['part'], number][] = [
    ['data', data * scale],
    ['own', compute - Math.max(0, asleep - rest)],
    ['asleep', asleep],
    ['transfer', transfer],
    ['waiting', waiting],
    ['optimizer', optimizer * scale],
    ['other', Math.max(0, rest - asleep)]
  ];
  return known.map(([part, seconds]) => ({
    part,
    seconds,
    share: seconds / step_s
  }));
}

/** Waiting of each of two ranks, if that differs: their mean applies to neither. */
export function waitsOf(
  ranks: readonly Rank[],
  trans: TranslationBundle
): string {
  const [a, b] = ranks.map(rank => rank.wait_s);
  if (ranks.length !== 2 || a === null || b === null) {
    return '';
  }
  return formatTime(a) === formatTime(b)
    ? ''
    : trans.__('rank 0: %1, rank 1: %2', formatTime(a), formatTime(b));
}

/** The parts of a step, as a bar and as text. */
export function StepParts(props: {
  metrics: Cluster['metrics'];
  ranks: readonly Rank[];
  trans: TranslationBundle;
}): JSX.Element | null {
  const { metrics, ranks, trans } = props;
  const waits = waitsOf(ranks, trans);
  const parts = partsOf(metrics).filter(p => p.share >= 0.001);
  if (!parts.length) {
    return null;
  }
  const names: Record<IPart['part'], string> = {
    data: trans.__('data'),
    own: trans.__('forward, backward'),
    asleep: trans.__('other waits'),
    transfer: trans.__('transfer'),
    waiting: trans.__('waiting'),
    optimizer: trans.__('optimizer'),
    other: trans.__('other')
  };
  const sleeps = parts.some(p => p.part === 'asleep');
  const shares = formatShares(parts.map(p => p.share));
  const text = parts.map((p, i) => `${names[p.part]} ${shares[i]}`).join(', ');
  return (
    <section className="jp-DtrainRanks-parts" aria-label={trans.__('A step')}>
      <h3>
        {trans.__("Where a step's time goes")}
        <span>
          <b>{formatTime(metrics.step_s)}</b> {ofWhom(ranks.length, trans)}
        </span>
      </h3>
      <span className="jp-DtrainUi-split" role="img" aria-label={text}>
        {parts.map(p => (
          <span
            key={p.part}
            data-part={p.part}
            style={{ width: `${p.share * 100}%` }}
          />
        ))}
      </span>
      <p className="jp-DtrainUi-legend" aria-hidden>
        {parts.map((p, i) => (
          <span
            key={p.part}
            data-part={p.part}
            title={
              p.part === 'own'
                ? sleeps
                  ? trans.__('All that runs between them')
                  : trans.__('All between them, also a short sleep')
                : partTitle(p.part, sleeps, trans)
            }
          >
            {names[p.part]} <b>{formatTime(p.seconds)}</b> {shares[i]}
            {p.part === 'waiting' && waits && ` (${waits})`}
          </span>
        ))}
      </p>
      <Gradients metrics={metrics} trans={trans} />
    </section>
  );
}

/** Bytes that are averaged, and their share of the network. */
function Gradients(props: {
  metrics: Cluster['metrics'];
  trans: TranslationBundle;
}): JSX.Element | null {
  const { metrics, trans } = props;
  const { gradient_bytes, link_share } = metrics;
  if (!gradient_bytes) {
    return null;
  }
  const small = gradient_bytes < 1e5;
  const size = small
    ? trans.__('%1 kB', formatRate(gradient_bytes / 1e3))
    : trans.__('%1 MB', formatMegabytes(gradient_bytes));
  return (
    <p className="jp-DtrainUi-under">
      {link_share === null
        ? trans.__('%1 of gradients a step', size)
        : trans.__(
            '%1 of gradients a step, %2 of what the network can carry',
            size,
            formatShare(link_share)
          )}
    </p>
  );
}

/** Note that the parts are means, which add up. */
function ofWhom(size: number, trans: TranslationBundle): string {
  switch (size) {
    case 1:
      return trans.__('rank 0');
    case 2:
      return trans.__('mean of both ranks');
    default:
      return trans.__('mean of all ranks');
  }
}
