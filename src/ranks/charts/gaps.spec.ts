import { expect, it } from 'vitest';

import { alone, withGaps } from './gaps';

it('draws no line over the time between two runs', () => {
  const times = [0, 0.5, 1, 21, 21.5, 22];
  expect(withGaps(times, [[1, 2, 3, 4, 5, 6]])).toEqual([
    [0, 0.5, 1, 11, 21, 21.5, 22],
    [1, 2, 3, null, 4, 5, 6]
  ]);
});

it('takes points that are thinned out, or that are few, for no gap', () => {
  const thinned = [0, 9, 18, 27, 27.25, 27.5, 27.75];
  expect(withGaps(thinned, [thinned])).toEqual([thinned, thinned]);
  expect(withGaps([0, 60], [[1, 2]])[0]).toEqual([0, 60]);
});

it('keeps a single point between two gaps apart', () => {
  const times = [0, 0.5, 1, 21, 41, 41.5, 42];
  expect(withGaps(times, [times])[1]).toEqual([
    0,
    0.5,
    1,
    null,
    21,
    null,
    41,
    41.5,
    42
  ]);
});

it('knows values to which no line leads', () => {
  expect(alone([null, 5])).toEqual([1]);
  expect(alone([1, 2, null, 3, null, 4, 5, null])).toEqual([3]);
  expect(alone([1, 2])).toBeNull();
});
