import { Cluster, Metrics } from '../../tokens';

/** The figures of a world that are shown: of now, or the last ones, said to be so. */
export interface IShownFigures {
  /** They are of steps that are made now. */
  current: boolean;
  samples: number | null;
  step: number | null;
  overhead: number | null;
  error: number | null;
  /** The share of communication is this or more: some of it can't be seen. */
  atLeast: boolean;
}

/** What is known of training: figures of now where it goes on, else the last ones. */
export function shownFigures(metrics: Metrics): IShownFigures {
  const { current, last } = metrics;
  const from = current ? metrics : last;
  return {
    current,
    samples: from?.samples_per_s ?? null,
    step: from?.step_s ?? null,
    overhead: from?.comm_overhead ?? null,
    error: from?.comm_overhead_error ?? null,
    atLeast: from?.comm_bound === 'lower'
  };
}

const FIGURES = {
  samples_per_s: null,
  tokens_per_s: null,
  step_s: null,
  data_s: null,
  compute_s: null,
  optimizer_s: null,
  transfer_s: null,
  wait_s: null,
  comm_overhead: null,
  comm_overhead_error: null
} as const;
const RANK_FIGURES = { ...FIGURES, steps_per_s: null } as const;

/**
 * A cluster without figures of steps that are not made any more: a rank's last seconds stay in its samples after
 * its cell has ended, was interrupted or got stuck. The head names them apart, as the last ones; its advice is of
 * the loop that ran last, and stays.
 */
export function asOfNow(cluster: Cluster): Cluster {
  const { metrics, ranks } = cluster;
  if (metrics.current || ranks.every(rank => rank.step_s === null)) {
    return cluster;
  }
  return {
    ...cluster,
    metrics: { ...metrics, ...FIGURES },
    ranks: ranks.map(rank => ({ ...rank, ...RANK_FIGURES }))
  };
}
