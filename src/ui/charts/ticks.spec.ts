import { expect, it } from 'vitest';

import { roundSteps, roundTime, timeSteps } from './ticks';

it('steps by round numbers, no more of them than asked for', () => {
  expect(roundSteps(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(roundSteps(0.1, 0.4, 2)).toEqual([0.2, 0.4]);
  expect(roundSteps(1, 1, 5)).toEqual([1]);
});

it('steps by round times, above a day in whole days', () => {
  expect(timeSteps(1300, 5)).toEqual([0, 300, 600, 900, 1200]);
  expect(timeSteps(0, 5)).toEqual([0]);
  expect(timeSteps(3 * 86_400, 4)).toEqual([0, 86_400, 172_800, 259_200]);
  expect([0.2, 11, 50_000, 100_000].map(roundTime)).toEqual([
    1, 15, 86_400, 172_800
  ]);
});
