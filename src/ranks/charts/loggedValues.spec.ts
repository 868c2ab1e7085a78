import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { formatClock } from '../../metrics/format';
import { latestText, loggedAt, noValues } from './loggedValues';

const at = (
  seconds: number,
  step: number,
  loss?: number
): { at: number; values: Record<string, number> } => ({
  at: seconds * 1000,
  values: loss === undefined ? { step } : { step, loss }
});

it('ends the line of a value where it was logged last, whether or not something trains on', () => {
  const points = [at(1, 10, 2), at(2, 20, 1), at(3, 20, 1), at(4, 20, 1)];
  expect(loggedAt(points, 'loss')).toEqual({
    times: [1000, 2000],
    values: [2, 1]
  });
});

it('leaves out what two runs have between them, and keeps a value that stays what it is', () => {
  const points = [
    at(1, 1, 3),
    at(2, 2, 3),
    at(3, 2, 3),
    at(60, 2, 3),
    at(61, 3, 3)
  ];
  expect(loggedAt(points, 'loss').times).toEqual([1000, 2000, 61_000]);
});

it('has a gap where a value is no number', () => {
  const points = [at(1, 1, 3), at(2, 2), at(3, 3, 4)];
  expect(loggedAt(points, 'loss').values).toEqual([3, null, 4]);
});

it('ends the line of a value with its cell: a later one logs others', () => {
  const points = [
    at(1, 10, 2),
    at(2, 20, 1),
    { at: 60_000, values: {} },
    at(61, 5),
    at(62, 5),
    at(63, 15)
  ];
  const { values } = loggedAt(points, 'loss');
  expect(values.slice(0, 2)).toEqual([2, 1]);
  expect(values.slice(2)).toEqual([null, null, null]);
});

it('says when a value was logged last, not that no steps ran: they may have logged others', () => {
  const trans = nullTranslator.load('dtrain-lab');
  const logged = loggedAt([at(1, 10, 2), at(2, 20, 1), at(600, 5)], 'loss');
  expect(noValues('loss', logged, trans)).toBe(
    `No values of loss in this period; the last was at ${formatClock(2000)}.`
  );
  expect(noValues('loss', { times: [1], values: [null] }, trans)).toBe(
    'No values of loss in this period.'
  );
});

it('keeps the digits of a value while it changes', () => {
  expect(latestText(2.3, [null, 2.347, 2.3])).toBe('2.30');
  expect(latestText(2, [2.04, 2])).toBe('2.00');
  expect(latestText(1.2e-5, [1.23e-5, 1.2e-5])).toBe('1.20e-5');
  expect(latestText(0.1, [0.1, 0.1])).toBe('0.1');
  expect(latestText(12, [11, 12])).toBe('12');
});
