import { expect, it } from 'vitest';

import { decode } from './frames';

const CLUSTER = { id: 'a', name: 'local-2' };

it('makes ranks of columns', () => {
  const ranks = {
    count: 2,
    same: { state: 'idle', step: null },
    each: { rank: [0, 1], node: ['a', 'b'] }
  };
  const text = JSON.stringify({
    type: 'clusters',
    seq: 3,
    clusters: [{ ...CLUSTER, ranks }]
  });
  const frame = decode(text);
  expect(frame.seq).toBe(3);
  expect(frame.clusters[0].name).toBe('local-2');
  expect(frame.clusters[0].ranks).toEqual([
    { rank: 0, node: 'a', state: 'idle', step: null },
    { rank: 1, node: 'b', state: 'idle', step: null }
  ]);
});

it('takes ranks one by one, too', () => {
  const ranks = [{ rank: 0 }];
  const text = JSON.stringify({
    type: 'clusters',
    seq: 0,
    clusters: [{ ...CLUSTER, ranks }]
  });
  expect(decode(text).clusters[0].ranks).toEqual(ranks);
});

it('takes a cluster without ranks', () => {
  const ranks = { count: 0, same: {}, each: {} };
  const text = JSON.stringify({
    type: 'clusters',
    seq: 0,
    clusters: [{ ...CLUSTER, ranks }]
  });
  expect(decode(text).clusters[0].ranks).toEqual([]);
});
