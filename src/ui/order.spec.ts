import { expect, it } from 'vitest';

import { steady } from './order';

const kept = { reason: 'own', at: 1000, keys: [1, 2, 3] };
const sort = (): number[] => [3, 2, 1];

it('keeps rows in place for five seconds, and under the pointer for longer', () => {
  expect(steady(kept, sort, 'own', 2000, false)).toBe(kept);
  expect(steady(kept, sort, 'own', 7000, true)).toBe(kept);
  expect(steady(kept, sort, 'own', 7000, false).keys).toEqual([3, 2, 1]);
});

it('takes another column or other rows at once', () => {
  expect(steady(kept, sort, 'rank', 1001, true).keys).toEqual([3, 2, 1]);
});
