import { expect, it } from 'vitest';

import { makeCluster, makeRank } from '../../testing/clusters';
import { rankMetricsOf, hasNetwork, passes, rebuilds } from './rankMetrics';
import { median, networkOf, ownTimes } from '../../metrics/ownTime';

const point = (at: number, own: number[], generation = 0) => ({
  at,
  samples: 1,
  overhead: 0.1,
  waiting: 0,
  generation,
  own: Float32Array.from(own),
  middle: median(own.filter(v => !Number.isNaN(v))),
  slowed: [],
  lost: null,
  slow: null as number[] | null,
  overheadError: null,
  unsure: 0,
  memory: null,
  network: null,
  networkMiddle: null,
  values: {}
});

it('finds the rank whose own time is long where step times are equal', () => {
  const ranks = [0, 1, 2].map(n =>
    makeRank(n, {
      step_s: 0.1,
      comm_overhead: n === 1 ? 0 : 0.3,
      transfer_s: 0.01,
      wait_s: 0.02
    })
  );
  const found = rankMetricsOf(makeCluster({ ranks }));
  expect(found[1].over).toBeCloseTo(0.1 / 0.07 - 1);
  expect(found[0].transfer! + found[0].waiting! + found[0].own!).toBeCloseTo(
    0.1
  );
});

it('knows no part of a step of a rank whose communication is too unsteady to tell', () => {
  const parts = {
    step_s: 0.1,
    comm_overhead: 0.5,
    comm_overhead_error: 0.4,
    transfer_s: 0.04,
    wait_s: 0.01
  };
  const ranks = [makeRank(0, parts), makeRank(1, { ...parts, slow: true })];
  const [vague, slow] = rankMetricsOf(makeCluster({ ranks }));
  const { own, transfer, waiting } = vague;
  expect([own, transfer, waiting]).toEqual([null, null, null]);
  expect(slow.own).toBeCloseTo(0.05);
});

it('compares no ranks whose own times are too unsteady to tell', () => {
  const parts = {
    step_s: 0.1,
    comm_overhead: 0.5,
    comm_overhead_error: 0.4,
    transfer_s: 0.04,
    wait_s: 0.01
  };
  const ranks = [0, 1, 2].map(n =>
    makeRank(n, { ...parts, own_s: 0.05 + n / 100 })
  );
  expect(rankMetricsOf(makeCluster({ ranks })).map(f => f.over)).toEqual([
    null,
    null,
    null
  ]);
  expect(ownTimes(ranks).middle).toBe(null);
});

it('compares two ranks with each other: their median is half of the difference', () => {
  const ranks = [0, 1].map(n =>
    makeRank(n, { step_s: 0.1, comm_overhead: n === 1 ? 0 : 0.5 })
  );
  const [quick, slow] = rankMetricsOf(makeCluster({ ranks }));
  expect(slow.over).toBeCloseTo(1);
  expect(quick.over).toBeCloseTo(-0.5);
});

it('knows nothing of a rank without steps', () => {
  expect(rankMetricsOf(makeCluster())[0]).toMatchObject({
    own: null,
    over: null
  });
  expect(median([])).toBeNull();
});

it('filters by rank, node, device and state', () => {
  const rank = makeRank(5, {
    node: 'gpu-03',
    device: 'cuda:1',
    state: 'stuck'
  });
  for (const filter of ['', '0-7', '3 5', 'gpu-03', 'cuda:1', 'stuck']) {
    expect(passes(filter, rank)).toBe(true);
  }
  for (const filter of ['0-4', 'gpu-04', 'slow']) {
    expect(passes(filter, rank)).toBe(false);
  }
});

it('knows of a network where nodes have addresses of their own', () => {
  const node = {
    ...makeCluster({}).nodes[0],
    sent_bytes_per_s: 3,
    received_bytes_per_s: 4
  };
  expect(networkOf(node)).toBe(7);
  expect(networkOf({ ...node, sent_bytes_per_s: null })).toBeNull();
  const other = { ...node, address: '10.0.0.2' };
  expect(hasNetwork(makeCluster({ nodes: [node, other] }))).toBe(true);
  expect(hasNetwork(makeCluster({ nodes: [node, node] }))).toBe(false);
});

it('marks where the world was rebuilt', () => {
  expect(rebuilds([point(1, []), point(2, [], 1), point(3, [], 1)])).toEqual([
    2
  ]);
});

it('marks rebuilds once that follow each other at once, as where a lost rank is replaced before a shrink', () => {
  const at = [0, 1, 2, 9, 60].map((second, i) => point(second * 1e3, [], i));
  expect(rebuilds(at)).toEqual([9e3, 60e3]);
});
