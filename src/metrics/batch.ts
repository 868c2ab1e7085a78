import { TranslationBundle } from '@jupyterlab/translation';

import { Cluster, Last, Metrics } from '../tokens';
import { formatCount, NBSP } from './format';

/** Ranks and their batches: a cluster's or a job's. */
export type Trains = Pick<Cluster, 'metrics' | 'world'>;

/** A batch: per rank, number of accumulated batches, and total. */
interface IBatch {
  each: number | null;
  /** Samples of one pass on all ranks. */
  pass: number;
  /** Number of ranks; before a resize, it differed from now. */
  ranks: number;
  accumulated: number;
  /** The effective batch. */
  all: number;
}

/** Metrics of the loop that trains, or of the one that ran last. */
function loopOf(metrics: Metrics): Metrics | Last | null {
  return metrics.current && metrics.global_batch
    ? metrics
    : (metrics.last ?? null);
}

/** Data of one step of the optimizer, for the current or the last training loop. */
export function batchOf(trains: Trains): IBatch | null {
  const from = loopOf(trains.metrics);
  if (!from?.global_batch) {
    return null;
  }
  const accumulated = from.accumulated ?? 1;
  const each = from.rank_batch ?? null;
  return {
    each,
    pass: from.global_batch,
    ranks: each ? Math.round(from.global_batch / each) : trains.world.size,
    accumulated,
    all: from.global_batch * accumulated
  };
}

/**
 * "batch 32 × 2 ranks = 64", which wraps only at the accumulation; null if unknown. "Last: batch 32 × 3 ranks = 96" where
 * the cluster has another number of ranks now.
 */
export function batchText(
  trains: Trains,
  trans: TranslationBundle
): string | null {
  const fact = batchFact(trains, trans);
  if (fact === null) {
    return null;
  }
  const batch = batchOf(trains);
  const long = (batch?.accumulated ?? 1) > 1;
  // beside the ranks of now, those of the last loop would seem to be wrong
  const text =
    trains.metrics.current || batch?.ranks === trains.world.size
      ? trans.__('batch %1', fact)
      : trans.__('Last: batch %1', fact);
  return text.replace(long ? /(?<=[×=]) /g : / /g, NBSP);
}

/** Both batches without their name: "32 × 2 ranks = 64"; null if unknown. */
export function batchFact(
  trains: Trains,
  trans: TranslationBundle
): string | null {
  const batch = batchOf(trains);
  if (!batch) {
    return null;
  }
  const { ranks } = batch;
  const all = formatCount(batch.all);
  const parts =
    batch.each === null
      ? trans._n(
          '%2 on %1 rank',
          '%2 on %1 ranks',
          ranks,
          formatCount(batch.pass)
        )
      : trans._n(
          '%2 × %1 rank',
          '%2 × %1 ranks',
          ranks,
          formatCount(batch.each)
        );
  return batch.accumulated > 1
    ? trans.__('%1 × %2 accumulated = %3', parts, batch.accumulated, all)
    : batch.each === null
      ? parts
      : trans.__('%1 = %2', parts, all);
}

/**
 * Twice the ranks with the same batch each: their number, the batches, and the optimizer's steps per epoch then
 * and now.
 */
interface IGrown {
  ranks: string;
  /** Samples of a step on each rank, with all accumulated batches. */
  each: string;
  batch: string;
  batchBefore: string;
  steps: number;
  before: string;
}

/**
 * Null unless the number of ranks is that of the measurement, and each rank reads its own part of the data:
 * otherwise the effect of more ranks on an epoch is nil or unknown.
 */
function grownOf(cluster: Cluster): IGrown | null {
  const batch = batchOf(cluster);
  const epoch = loopOf(cluster.metrics)?.epoch;
  const { size } = cluster.world;
  if (!batch?.each || batch.ranks !== size || !epoch?.split || !epoch.total) {
    return null;
  }
  const steps = (of: number): number => Math.ceil(of / batch.accumulated);
  const each = batch.each * batch.accumulated;
  return {
    ranks: formatCount(2 * size),
    each: formatCount(each),
    batch: formatCount(2 * size * each),
    batchBefore: formatCount(size * each),
    steps: steps(Math.ceil(epoch.total / 2)),
    before: formatCount(steps(epoch.total))
  };
}

/**
 * `weakScaling` in fewer words: "With 4 ranks and still 32 samples on each, a step would train on 128 samples, and an
 * epoch would take 51 steps instead of 101."; null if unknown. Conditional: code that divides a fixed batch by
 * `world_size` keeps its number of steps. `short`: what it is about, "with 4 ranks"; nobody has asked for the sentence.
 */
export function weakScalingShort(
  cluster: Cluster,
  trans: TranslationBundle
): { short: string; text: string } | null {
  const grown = grownOf(cluster);
  return (
    grown && {
      short: trans.__('with %1 ranks', grown.ranks),
      text: trans._n(
        'With %2 ranks and still %3 samples on each, a step would train on %4 samples, and an epoch would take %5 step instead of %6.',
        'With %2 ranks and still %3 samples on each, a step would train on %4 samples, and an epoch would take %5 steps instead of %6.',
        grown.steps,
        grown.ranks,
        grown.each,
        grown.batch,
        formatCount(grown.steps),
        grown.before
      )
    }
  );
}

/** Effect of twice the ranks on batch and epoch if each keeps its batch; null if unknown. */
export function weakScaling(
  cluster: Cluster,
  trans: TranslationBundle
): string | null {
  const grown = grownOf(cluster);
  return (
    grown &&
    trans._n(
      'With %2 ranks and still %3 samples on each (weak scaling), a step would train on %4 samples instead of %5, and an epoch would take %6 step instead of %7 if each rank reads its own part of the data.',
      'With %2 ranks and still %3 samples on each (weak scaling), a step would train on %4 samples instead of %5, and an epoch would take %6 steps instead of %7 if each rank reads its own part of the data.',
      grown.steps,
      grown.ranks,
      grown.each,
      grown.batch,
      grown.batchBefore,
      formatCount(grown.steps),
      grown.before
    )
  );
}
