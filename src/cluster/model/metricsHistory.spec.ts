// alone: fake timers
import { afterEach, expect, it, vi } from 'vitest';

import { makeCluster, makeFrame } from '../../testing/clusters';
import { makeLiveState } from '../../testing/liveState';
import { Cluster, Point } from '../../tokens';
import { HISTORY, MetricsHistory } from './metricsHistory';
import { Preferences } from '../../preferences/preferences';

afterEach(() => {
  vi.useRealTimers();
});

it('has the own times of ranks from before this page looked, as far as they are known', () => {
  const past = new MetricsHistory();
  const cluster = makeCluster();
  past.add(cluster);
  const at = Date.now() / 1000 - 10;
  past.prepend(cluster.id, [
    { at, own_s: [0.5, null] },
    { at: at + 1 }
  ] as unknown as Point[]);
  const [first, second] = past.of(cluster.id);
  expect([...first.own]).toEqual([0.5, NaN]);
  expect(first.middle).toBe(0.5);
  expect([[...second.own], second.middle]).toEqual([[], null]);
});

it('adds what the head has worked out of ranks and nodes', () => {
  const past = new MetricsHistory();
  const cluster = makeCluster();
  const ranks = cluster.ranks.map(rank => ({ ...rank, own_s: 0.25 }));
  const metrics = {
    ...cluster.metrics,
    step_s: 1,
    wait_s: 0.2,
    comm_overhead: 0.5,
    memory_bytes: 7,
    network_bytes_per_s: 8
  };
  past.add({ ...cluster, ranks, metrics });
  const [point] = past.of(cluster.id);
  expect([...point.own, point.middle]).toEqual([0.25, 0.25, 0.25]);
  expect(point).toMatchObject({ memory: 7, network: 8, waiting: 0.2 });
});

it('marks a slow rank when it became slow, not when the page was opened', () => {
  const past = new MetricsHistory();
  const cluster = makeCluster();
  const verdict = { id: 'v', kind: 'slow', ranks: [1] };
  const metrics = { ...cluster.metrics, verdicts: [verdict] };
  past.add({ ...cluster, metrics } as unknown as typeof cluster);
  const at = Date.now() / 1000 - 10;
  past.prepend(cluster.id, [
    { at, slow: [] },
    { at: at + 1, slow: [1] },
    { at: at + 2, slow: [1] }
  ] as unknown as Point[]);
  expect(past.of(cluster.id).map(p => p.slowed)).toEqual([[], [1], [], []]);
});

it('keeps a bounded history and forgets clusters that are gone', () => {
  const model = makeLiveState();
  vi.useFakeTimers();
  const generation = (seq: number): number => (seq < 3000 ? 0 : 1);
  for (let seq = 0; seq < 9000; seq++) {
    vi.advanceTimersByTime(500);
    const world = { size: 2, generation: generation(seq) };
    model.receive(makeFrame([makeCluster({ world })]));
    expect(model.history('c1').length).toBeLessThanOrEqual(HISTORY);
  }
  const points = model.history('c1');
  const [first, last] = [points[0], points[points.length - 1]];
  // an hour of them, the latest minutes in full, and no gap in the older ones
  expect(last.at - first.at).toBeGreaterThan(3_400_000);
  const gaps = points.slice(1).map((p, i) => p.at - points[i].at);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(3000);
  expect(Math.max(...gaps.slice(-500))).toBe(500);
  // where the world was rebuilt is still marked, to the half second
  const rebuilt = points.findIndex(p => p.generation === 1);
  expect(last.at - points[rebuilt].at).toBe((8999 - 3000) * 500);
  model.receive(makeFrame([]));
  expect(model.history('c1')).toHaveLength(0);
});

it('keeps the last steps of a cluster that has been idle for hours', () => {
  const past = new MetricsHistory();
  vi.useFakeTimers();
  const { metrics } = makeCluster();
  for (let i = 0; i < 6 * 2400; i++) {
    vi.advanceTimersByTime(1000);
    const samples_per_s = i < 10 ? 100 + i : null;
    past.add(makeCluster({ metrics: { ...metrics, samples_per_s } }));
  }
  const kept = past.of('c1').filter(p => p.samples !== null);
  expect(kept.map(p => p.samples)).toEqual(
    Array.from({ length: 10 }, (_, i) => 100 + i)
  );
});

it('leaves out metrics that come too often, and never a change of state', () => {
  const preferences = new Preferences();
  const model = makeLiveState({ preferences });
  vi.useFakeTimers();
  preferences.set({ updatesPerSecond: 1 });
  const hear = (state: Cluster['state']): void =>
    model.receive(makeFrame([makeCluster({ state })]));
  hear('ready');
  vi.advanceTimersByTime(400);
  hear('ready');
  expect(model.history('c1')).toHaveLength(1);
  hear('degraded');
  expect(model.history('c1')).toHaveLength(2);
  vi.advanceTimersByTime(1000);
  hear('degraded');
  expect(model.history('c1')).toHaveLength(3);
});
