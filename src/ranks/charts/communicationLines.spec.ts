import { expect, it } from 'vitest';

import { communicationLines } from './communicationLines';

const at = (
  overhead: number | null,
  overheadError: number | null,
  waiting = 0
): Parameters<typeof communicationLines>[0][number] => ({
  overhead,
  overheadError,
  waiting
});

it('draws a share with the part of it that is transfer', () => {
  const lines = communicationLines(
    [at(0.44, 0.06, 0.04), at(null, null)],
    false
  );
  expect(lines.whole).toEqual([0.44, null]);
  expect(lines.transfer).toEqual([0.4, null]);
  expect(lines.bound).toEqual([null, null]);
  expect(lines.bounds).toBeNull();
});

it('draws a bound where the heading has only a bound, and no estimate there', () => {
  const points = [at(0.44, 0.06), at(0.02, 0.08), at(0.9, 0.2)];
  const lines = communicationLines(points, false);
  expect(lines.whole).toEqual([0.44, null, null]);
  expect(lines.transfer).toEqual([0.44, null, null]);
  expect(lines.bound).toEqual([null, 0.1, 0.7]);
  expect(lines.bounds).toBe('both');
  expect(communicationLines(points.slice(0, 2), false).bounds).toBe('most');
  expect(communicationLines(points.slice(2), false).bounds).toBe('least');
});

it('draws nothing where the heading has no number, and says so if there is nothing else', () => {
  const vague = communicationLines([at(0.5, 0.4), at(null, null)], false);
  expect([...vague.whole, ...vague.bound].some(v => v !== null)).toBe(false);
  expect(vague.vague).toBe(true);
  expect(communicationLines([at(0.5, 0.4), at(0.4, 0)], false).vague).toBe(
    false
  );
  expect(communicationLines([at(null, null)], false).vague).toBe(false);
});

it('draws a lower bound as it is', () => {
  expect(communicationLines([at(0.1, 0.2)], true).whole).toEqual([0.1]);
});
