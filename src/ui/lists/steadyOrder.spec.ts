import { expect, it } from 'vitest';

import { ISorted, settled, SortValue, steady } from './steadyOrder';

const kept = { reason: 'own', at: 1000, keys: [1, 2, 3], by: null };
const sort = (): ISorted<null> => ({ keys: [3, 2, 1], by: null });

it('keeps rows in place for five seconds, and under the pointer for longer', () => {
  expect(steady(kept, sort, 'own', 2000, false)).toBe(kept);
  expect(steady(kept, sort, 'own', 7000, true)).toBe(kept);
  expect(steady(kept, sort, 'own', 7000, false).keys).toEqual([3, 2, 1]);
});

it('takes another column or other rows at once', () => {
  expect(steady(kept, sort, 'rank', 1001, true).keys).toEqual([3, 2, 1]);
});

it('sorts by what has changed by more than noise', () => {
  const before = new Map<number, SortValue>([
    [0, 0.1],
    [1, 0.104],
    [2, null],
    [3, 'busy']
  ]);
  const now = new Map<number, SortValue>([
    [0, 0.104],
    [1, 0.12],
    [2, 0.1],
    [3, 'idle']
  ]);
  expect([...settled(before, now)]).toEqual([
    [0, 0.1],
    [1, 0.12],
    [2, 0.1],
    [3, 'idle']
  ]);
});
