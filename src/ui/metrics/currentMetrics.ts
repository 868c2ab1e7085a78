import { Cluster, Metrics } from '../../tokens';

/** Displayed metrics of a world: current ones, or the last ones, labelled as such. */
export interface IShownMetrics {
  /** Whether they are of steps that are taken now. */
  current: boolean;
  samples: number | null;
  step: number | null;
  overhead: number | null;
  error: number | null;
  /** Whether the share of communication is a lower bound: some of it can't be measured. */
  atLeast: boolean;
}

/** Metrics of training: current ones while it runs, else the last ones. */
export function shownMetrics(metrics: Metrics): IShownMetrics {
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

const METRICS = {
  samples_per_s: null,
  tokens_per_s: null,
  step_s: null,
  data_s: null,
  compute_s: null,
  optimizer_s: null,
  transfer_s: null,
  wait_s: null,
  comm_overhead: null,
  comm_overhead_error: null,
  asleep_s: null
} as const;
const RANK_METRICS = { ...METRICS, steps_per_s: null } as const;

/**
 * A cluster without outdated metrics: a rank's last seconds stay in its samples after its cell has ended, was
 * interrupted or got stuck. The head sends them separately, as the last ones; its advice on the last loop
 * stays.
 */
export function asOfNow(cluster: Cluster): Cluster {
  const { metrics, ranks } = cluster;
  if (metrics.current || ranks.every(rank => rank.step_s === null)) {
    return cluster;
  }
  return {
    ...cluster,
    metrics: { ...metrics, ...METRICS },
    ranks: ranks.map(rank => ({ ...rank, ...RANK_METRICS }))
  };
}
