import { expect, it } from 'vitest';

import { makeCluster, makeRank } from '../../testing/clusters';
import { median, shownNow } from '../../metrics/ownTime';
import { hasNodes, heatOf, hasTime } from './heatMapCells';

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

it('maps own time over time, against the median of that time', () => {
  const slow = (own: number[]) => ({ ...point(15, own), slow: [1] });
  const points = [point(0, [1, 1, NaN]), slow([1, 3, NaN])];
  const heat = heatOf(makeCluster(), points, [0, 1], 2, 0, 20);
  // three ranks, one of them not known
  expect([...heat.cells]).toEqual([0, -0.5, 0, 0.5]);
  const later = heatOf(makeCluster(), points, [0], 4, 0, 40);
  expect([...later.cells]).toEqual([0, -0.5, NaN, NaN]);
  const apart = heatOf(makeCluster(), points, [0], 8, 0, 40);
  expect([...apart.cells].slice(0, 5)).toEqual([0, 0, 0, -0.5, NaN]);
  const pair = [point(0, [1, 1]), slow([1, 3])];
  const two = heatOf(makeCluster(), pair, [0, 1], 2, 0, 20);
  expect(two.cells[3]).toBe(2);
});

it('keeps the colours of past columns as time passes', () => {
  const points = Array.from({ length: 40 }, (_, s) =>
    point(s, [1, 1 + (s % 7)])
  );
  const at = (now: number): number[] =>
    [...heatOf(makeCluster(), points, [1], 10, now - 40, now).cells].slice(
      0,
      8
    );
  // columns of 4 s
  expect(at(41)).toEqual(at(44));
  expect(at(45)).toEqual([...at(41).slice(1), expect.anything()]);
});

it('has deep colours for what the head calls slow only, and none within the error', () => {
  const pair = { ...point(0, [1, 1.4]), slow: [] as number[] };
  const cellsOf = (one: typeof pair) =>
    [...heatOf(makeCluster(), [one], [0, 1], 1, 0, 1).cells].map(
      over => Math.round(over * 100) / 100
    );
  expect(cellsOf(pair)).toEqual([-0.29, 0.05]);
  expect(cellsOf({ ...pair, slow: [1] })).toEqual([-0.29, 0.4]);
  expect(cellsOf({ ...pair, unsure: 0.45 })).toEqual([0, 0]);
  expect(cellsOf({ ...pair, slow: [1], unsure: 0.45 })).toEqual([0, 0.4]);
  const rank = makeRank(1, { slow: false });
  expect(shownNow(0.4, rank)).toBe(0.05);
  expect(shownNow(0.4, { ...rank, slow: true })).toBe(0.4);
  const wide = { step_s: 1, comm_overhead: 0.5, comm_overhead_error: 0.25 };
  expect(shownNow(0.4, { ...rank, ...wide })).toBe(0);
});

it('maps nodes where there are too many ranks, each by its slowest', () => {
  const ranks = Array.from({ length: 200 }, (_, n) =>
    makeRank(n, { node: n < 100 ? 'a' : 'b' })
  );
  const own = ranks.map((_, n) => (n === 150 ? 2 : 1));
  const shown = ranks.map(r => r.rank);
  const heat = heatOf(
    makeCluster({ ranks }),
    [{ ...point(0, own), slow: [150] }],
    shown,
    1,
    0,
    1
  );
  expect(heat.rows.map(r => r.label)).toEqual(['a', 'b']);
  expect([...heat.cells]).toEqual([0, 1]);
});

it('knows where a name would cover known times', () => {
  const cells = Float32Array.from([NaN, NaN, 0.1, 0.2, NaN, NaN, NaN, 2]);
  const row = (label: string, group: string) => ({ label, group, ranks: [0] });
  const heat = { rows: [row('0', 'a'), row('1', 'a')], cells, columns: 4 };
  expect(hasTime(heat, 0, 0, 2)).toBe(false);
  expect(hasTime(heat, 0, 1, 3)).toBe(true);
  expect(hasTime(heat, 1, 0, 3)).toBe(false);
  expect(hasNodes(heat)).toBe(false);
  expect(hasNodes({ ...heat, rows: [row('0', 'a'), row('1', 'b')] })).toBe(
    true
  );
});
