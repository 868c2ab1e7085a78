import { expect, it } from 'vitest';

import { makeCluster, makeVerdict } from '../testing/clusters';
import { clusterGlyph } from './sentence';
import { slowedNow } from './verdict';

it('marks each episode of a slow rank once, as the head tells it', () => {
  const told = new Set<string>();
  const look = (...ids: string[]): number[] => {
    const verdicts = ids.map(id =>
      makeVerdict({ id, kind: 'slow', code: 'slow', ranks: [1] })
    );
    const metrics = { ...makeCluster().metrics, verdicts };
    return slowedNow({ metrics }, told);
  };
  expect([look(), look('slow-1-1'), look('slow-1-1')]).toEqual([[], [1], []]);
  expect([look(), look('slow-1-1'), look('slow-1-2')]).toEqual([[], [], [1]]);
});

it('tells a stopped cluster from an idle one by its shape', () => {
  const [idle, stopped] = (['ready', 'stopped'] as const).map(state =>
    clusterGlyph(makeCluster({ state }))
  );
  expect([idle, stopped]).toEqual(['idle', 'stopped']);
});

it('shows no green disc while nobody knows why nothing goes on', () => {
  const cluster = makeCluster();
  const verdicts = [makeVerdict({ kind: 'unknown', code: 'no_progress' })];
  const metrics = { ...cluster.metrics, verdicts };
  expect(clusterGlyph({ ...cluster, metrics })).toBe('slow');
});
