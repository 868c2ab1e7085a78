import { expect, it } from 'vitest';

import { parseRanks, rankSet } from './rankSets';

it('reads ranks as people write them', () => {
  expect(parseRanks('0, 2–3', 8)).toEqual([0, 2, 3]);
  expect(parseRanks('3 1-2,2', 8)).toEqual([1, 2, 3]);
  expect(parseRanks('', 3)).toEqual([0, 1, 2]);
});

it('writes ranks as fields and commands take them', () => {
  expect(rankSet([0, 1, 2, 5, 7, 8])).toBe('0-2,5,7-8');
  expect(rankSet([])).toBe('');
});

it('refuses what names no rank', () => {
  for (const text of ['8', 'a', '3-1', '-1', '1-']) {
    expect(parseRanks(text, 8)).toBeNull();
  }
});
