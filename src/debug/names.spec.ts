import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { makeCluster } from '../testing/clusters';
import { nameOf } from './names';

const trans = nullTranslator.load('dtrain_lab');
const cell = { id: 'c1', count: null, runs: true, position: 3, of: 12 };
const running = {
  cell: '[7]',
  cell_id: 'c1',
  notebook: 'train.ipynb',
  ranks: [0, 1],
  started_at: 0
};

it('names a cell that runs by the number that it will get', () => {
  const cluster = { ...makeCluster(), running: [running] };
  expect(nameOf(cell, [cluster], trans)).toBe('cell\u00a0[7]');
  expect(nameOf({ ...cell, begun: 8 }, [], trans)).toBe('cell\u00a0[8]');
  const done = { ...cell, runs: false, count: 7 };
  expect(nameOf(done, [cluster], trans)).toBe('cell\u00a0[7]');
});

it('names a cell without a number by where it stands', () => {
  expect(nameOf(cell, [], trans)).toBe('cell 3/12');
  const fresh = { ...cell, runs: false };
  expect(nameOf(fresh, [], trans)).toBe('cell 3/12');
});
