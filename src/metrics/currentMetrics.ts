import { Metrics } from '../tokens';

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
