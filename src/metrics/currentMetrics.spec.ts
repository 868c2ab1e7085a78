import { expect, it } from 'vitest';

import { makeCluster } from '../testing/clusters';
import { Last, Metrics } from '../tokens';
import { shownMetrics } from './currentMetrics';

const METRICS: Partial<Metrics> = {
  samples_per_s: 1286,
  step_s: 0.2,
  comm_overhead: 0.23,
  comm_overhead_error: 0.02
};
const LAST: Last = {
  samples_per_s: 1290,
  tokens_per_s: null,
  global_batch: null,
  rank_batch: null,
  accumulated: 1,
  step_ranks: [],
  epoch: null,
  step_s: 0.2,
  comm_overhead: 0.24,
  comm_overhead_error: 0.02,
  comm_bound: '',
  gradient_bytes: null,
  link_share: null,
  data_s: null,
  compute_s: null,
  transfer_s: null,
  wait_s: null,
  optimizer_s: null,
  asleep_s: null
};

function metrics(more: Partial<Metrics>): Metrics {
  return { ...makeCluster().metrics, ...METRICS, ...more };
}

it('shows metrics of now where steps are made, else the last ones', () => {
  expect(shownMetrics(metrics({})).samples).toBe(1286);
  const ended = shownMetrics(metrics({ current: false, last: LAST }));
  expect([ended.current, ended.samples, ended.overhead]).toEqual([
    false,
    1290,
    0.24
  ]);
  expect(shownMetrics(metrics({ current: false })).samples).toBeNull();
});

it('says that a last share is a lower bound where some of it was not seen', () => {
  const last = { ...LAST, comm_bound: 'lower' };
  expect(shownMetrics(metrics({ current: false, last })).atLeast).toBe(true);
  expect(shownMetrics(metrics({ current: false, last: LAST })).atLeast).toBe(
    false
  );
  expect(shownMetrics(metrics({ comm_bound: 'lower' })).atLeast).toBe(true);
});
