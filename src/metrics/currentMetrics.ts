import { TranslationBundle } from '@jupyterlab/translation';

import { Last, Metrics } from '../tokens';
import { formatRate, unbroken, UNKNOWN } from './format';

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

/** Where the displayed metrics are: the current ones, or the last ones; null if nothing has trained. */
export function sourceOf(metrics: Metrics): Metrics | Last | null {
  return metrics.current ? metrics : metrics.last;
}

/** Metrics of training: current ones while it runs, else the last ones. */
export function shownMetrics(metrics: Metrics): IShownMetrics {
  const { current } = metrics;
  const from = sourceOf(metrics);
  return {
    current,
    samples: from?.samples_per_s ?? null,
    step: from?.step_s ?? null,
    overhead: from?.comm_overhead ?? null,
    error: from?.comm_overhead_error ?? null,
    atLeast: from?.comm_bound === 'lower'
  };
}

/**
 * Throughput as a heading has it, of a cluster and of a job: the current one; while no steps are taken the last one in
 * words, without a value of now but for the 0 of ranks that hang.
 */
export function throughputText(
  now: IShownMetrics,
  hung: boolean,
  trans: TranslationBundle
): { value: string; words: string } {
  if (now.current || now.samples === null) {
    const value = now.current ? formatRate(now.samples) : hung ? '0' : UNKNOWN;
    return { value, words: trans.__('samples/s') };
  }
  const rate = formatRate(now.samples);
  return hung
    ? { value: '0', words: unbroken(trans.__('was %1 samples/s', rate)) }
    : { value: '', words: unbroken(trans.__('Last: %1 samples/s', rate)) };
}
