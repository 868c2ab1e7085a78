import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Cluster, Rank } from '../tokens';
import {
  formatMegabytes,
  formatRate,
  formatShare,
  formatTime
} from '../metrics/format';
import {
  partName,
  PARTS,
  partTitle,
  shareTexts,
  splitOf
} from '../metrics/split';
import { SplitBar } from '../ui/charts/splitBar';

/** Share of a step from which a part is named. */
const LEAST_NAMED = 0.001;

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
  const split = splitOf(metrics);
  if (!split) {
    return null;
  }
  const step = metrics.step_s ?? 0;
  const parts = PARTS.filter(part => split[part] >= LEAST_NAMED);
  const shares = shareTexts(split);
  return (
    <section className="jp-DtrainRanks-parts" aria-label={trans.__('A step')}>
      <h3>
        {trans.__("Where a step's time goes")}
        <span>
          <b>{formatTime(metrics.step_s)}</b> {ofWhom(ranks.length, trans)}
        </span>
      </h3>
      <SplitBar split={split} trans={trans} />
      <p className="jp-DtrainUi-legend" aria-hidden>
        {parts.map(part => (
          <span
            key={part}
            data-part={part}
            title={partTitle(part, split.asleep > 0, trans)}
          >
            {partName(part, trans)} <b>{formatTime(split[part] * step)}</b>{' '}
            {shares[part]}
            {part === 'waiting' && waits && ` (${waits})`}
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
