import { TranslationBundle } from '@jupyterlab/translation';

import { Cluster } from '../tokens';
import { formatCount, NBSP } from './format';

/** Ranks with what they take of the data: a cluster's or a job's. */
export type Trains = Pick<Cluster, 'metrics' | 'world'>;

/** What a rank and all ranks take of the data at once; of now, or of the loop that ran last. */
export function batchOf(
  trains: Trains
): { each: number | null; all: number } | null {
  const { metrics } = trains;
  const from = metrics.current && metrics.global_batch ? metrics : metrics.last;
  return from?.global_batch
    ? { each: from.rank_batch ?? null, all: from.global_batch }
    : null;
}

/** "batch 32 × 2 ranks = 64", which does not break; null where it is not known. */
export function batchText(
  trains: Trains,
  trans: TranslationBundle
): string | null {
  const batch = batchOf(trains);
  if (!batch) {
    return null;
  }
  const { size } = trains.world;
  const all = formatCount(batch.all);
  const text =
    batch.each === null
      ? trans._n('batch %2 on %1 rank', 'batch %2 on %1 ranks', size, all)
      : trans._n(
          'batch %2 × %1 rank = %3',
          'batch %2 × %1 ranks = %3',
          size,
          formatCount(batch.each),
          all
        );
  return text.replace(/ /g, NBSP);
}

/** Both batches where their name stands beside them: "32 × 2 ranks = 64"; null where they are not known. */
export function batchFact(
  trains: Trains,
  trans: TranslationBundle
): string | null {
  const batch = batchOf(trains);
  if (!batch) {
    return null;
  }
  const { size } = trains.world;
  const all = formatCount(batch.all);
  return batch.each === null
    ? trans._n('%2 on %1 rank', '%2 on %1 ranks', size, all)
    : trans._n(
        '%2 × %1 rank = %3',
        '%2 × %1 ranks = %3',
        size,
        formatCount(batch.each),
        all
      );
}

/** `weakScaling` in a few words: "× 4 ranks = 128, 51 steps an epoch"; null where it is not known. */
export function weakScalingShort(
  cluster: Cluster,
  trans: TranslationBundle
): string | null {
  const batch = batchOf(cluster);
  if (!batch || batch.each === null) {
    return null;
  }
  const ranks = formatCount(2 * cluster.world.size);
  const grown = formatCount(2 * batch.all);
  const steps = cluster.metrics.epoch?.total;
  return steps
    ? trans.__(
        '× %1 ranks = %2, %3 steps an epoch',
        ranks,
        grown,
        formatCount(Math.ceil(steps / 2))
      )
    : trans.__('× %1 ranks = %2, half the steps', ranks, grown);
}

/** What twice the ranks would do to batch and epoch where each keeps its batch; null where it is not known. */
export function weakScaling(
  cluster: Cluster,
  trans: TranslationBundle
): string | null {
  const batch = batchOf(cluster);
  if (!batch || batch.each === null) {
    return null;
  }
  const ranks = formatCount(2 * cluster.world.size);
  const grown = formatCount(2 * batch.all);
  const steps = cluster.metrics.epoch?.total;
  return steps
    ? trans.__(
        'On %1 ranks with the same batch on each (weak scaling) the global batch is %2, and an epoch has %3 steps in place of %4 where each rank reads its own part of the data.',
        ranks,
        grown,
        formatCount(Math.ceil(steps / 2)),
        formatCount(steps)
      )
    : trans.__(
        'On %1 ranks with the same batch on each (weak scaling) the global batch is %2, and an epoch has half the steps where each rank reads its own part of the data.',
        ranks,
        grown
      );
}
