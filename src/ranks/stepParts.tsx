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
  isSplitVague,
  ISplit,
  ofWhom,
  partName,
  PARTS,
  partTitle,
  shareTexts,
  shownSplit
} from '../metrics/split';
import { errorOfPart } from '../metrics/share';
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

/** A step, with its parts as a bar and as text. */
export function StepParts(props: {
  metrics: Cluster['metrics'];
  ranks: readonly Rank[];
  trans: TranslationBundle;
}): JSX.Element | null {
  const { metrics, ranks, trans } = props;
  const split = shownSplit(metrics);
  if (!split && !isSplitVague(metrics)) {
    return null;
  }
  return (
    <section className="jp-DtrainRanks-parts" aria-label={trans.__('A step')}>
      <h3>
        {trans.__("Where a step's time goes")}
        <span>
          <b>{formatTime(metrics.step_s)}</b>{' '}
          {ofWhom(ranks.length, metrics.step_ranks, trans)}
        </span>
      </h3>
      {split ? (
        <Parts {...props} split={split} />
      ) : (
        <p className="jp-DtrainUi-under">
          {trans.__('How this time divides is too unsteady to tell.')}
        </p>
      )}
      <Gradients metrics={metrics} trans={trans} />
    </section>
  );
}

/** The parts of a step as a bar, and the time of each. */
function Parts(props: {
  split: ISplit;
  metrics: Cluster['metrics'];
  ranks: readonly Rank[];
  trans: TranslationBundle;
}): JSX.Element {
  const { split, metrics, ranks, trans } = props;
  const waits = waitsOf(ranks, trans);
  const step = metrics.step_s ?? 0;
  const parts = PARTS.filter(part => split[part] >= LEAST_NAMED);
  const shares = shareTexts(split);
  const error = errorOfPart(metrics.data_error);
  return (
    <>
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
            {part === 'data' && error && ` ${error}`}
            {part === 'waiting' && waits && ` (${waits})`}
          </span>
        ))}
      </p>
    </>
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
