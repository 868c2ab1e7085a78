import { expect, it } from 'vitest';

import { beyondFirst, ranksBeyondFirst } from './displayLimit';

/** How many displays of each rank are shown, of so many per rank. */
function shown(ranks: number, each: number): number[] {
  const all = Array.from({ length: ranks }, (_, rank) =>
    Array<number>(each).fill(rank)
  ).flat();
  const hidden = beyondFirst(all);
  return Array.from(
    { length: ranks },
    (_, rank) => all.filter((r, i) => r === rank && !hidden.has(i)).length
  );
}

it('hides none for one or two more, and splits no display of all ranks', () => {
  expect(shown(3, 3)).toEqual([3, 3, 3]);
  expect(shown(2, 5)).toEqual([5, 5]);
  expect(shown(3, 5)).toEqual([3, 3, 3]);
  expect(shown(4, 3)).toEqual([2, 2, 2, 2]);
  expect(shown(4, 4)).toEqual([2, 2, 2, 2]);
  expect(shown(1, 20)).toEqual([10]);
  expect(shown(10, 1)).toEqual(Array(10).fill(1));
  // more ranks than fit
  expect(shown(16, 2).slice(0, 5)).toEqual([2, 2, 2, 2, 0]);
});

it('shows widgets of a rank all or not at all', () => {
  expect(ranksBeyondFirst([0, 0, 0, 1, 1, 1, 2, 2, 2])).toEqual(new Set());
  const many = Array.from({ length: 24 }, (_, i) => i >> 1);
  expect(ranksBeyondFirst(many)).toEqual(new Set([8, 9, 10, 11]));
});
