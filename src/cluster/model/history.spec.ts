import { expect, it } from 'vitest';

import { makeCluster } from '../../testing/clusters';
import { Point } from '../../tokens';
import { Past } from './history';

it('has the own times of ranks from before this page looked, as far as they are known', () => {
  const past = new Past();
  const cluster = makeCluster();
  past.add(cluster);
  const at = Date.now() / 1000 - 10;
  past.putBefore(cluster.id, [
    { at, own_s: [0.5, null] },
    { at: at + 1 }
  ] as unknown as Point[]);
  const [first, second] = past.of(cluster.id);
  expect([...first.own]).toEqual([0.5, NaN]);
  expect(first.middle).toBe(0.5);
  expect([[...second.own], second.middle]).toEqual([[], null]);
});

it('marks a slow rank when it became slow, not when the page was opened', () => {
  const past = new Past();
  const cluster = makeCluster();
  const verdict = { id: 'v', kind: 'slow', ranks: [1] };
  const metrics = { ...cluster.metrics, verdicts: [verdict] };
  past.add({ ...cluster, metrics } as unknown as typeof cluster);
  const at = Date.now() / 1000 - 10;
  past.putBefore(cluster.id, [
    { at, slow: [] },
    { at: at + 1, slow: [1] },
    { at: at + 2, slow: [1] }
  ] as unknown as Point[]);
  expect(past.of(cluster.id).map(p => p.slowed)).toEqual([[], [1], [], []]);
});
