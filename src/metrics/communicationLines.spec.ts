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

const run = (point: ReturnType<typeof at>): ReturnType<typeof at>[] =>
  Array<ReturnType<typeof at>>(12).fill(point);

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
  const low = run(at(0.02, 0.08));
  const high = run(at(0.9, 0.2));
  const lines = communicationLines([...run(at(0.44, 0.06)), ...low], false);
  expect(lines.whole[0]).toBe(0.44);
  expect(lines.bound[0]).toBeNull();
  expect(lines.whole.at(-1)).toBeNull();
  expect(lines.transfer.at(-1)).toBeNull();
  expect(lines.bound.at(-1)).toBeCloseTo(0.1);
  expect(lines.bounds).toBe('most');
  expect(lines.estimate.at(-1)).toBe(0.02);
  expect(communicationLines(high, false).bounds).toBe('least');
  expect(communicationLines(high, false).bound[0]).toBeCloseTo(0.7);
  expect(communicationLines([...low, ...high], false).bounds).toBe('both');
});

it('leaves out no single points of a share whose error varies around a limit', () => {
  const points = [0.27, 0.31, 0.28, 0.33, 0.26, 0.29, 0.31, 0.28].map(error =>
    at(0.58, error)
  );
  expect(communicationLines(points, false).whole).toEqual(
    points.map(() => 0.58)
  );
});

it('draws nothing where the heading has no number, and says so if there is nothing else', () => {
  const vague = communicationLines([at(0.5, 0.4), at(null, null)], false);
  expect(
    [...vague.whole, ...vague.bound, ...vague.estimate].some(v => v !== null)
  ).toBe(false);
  expect(vague.vague).toBe(true);
  expect(
    communicationLines([...run(at(0.5, 0.4)), ...run(at(0.4, 0.02))], false)
      .vague
  ).toBe(false);
  expect(communicationLines([at(null, null)], false).vague).toBe(false);
});

it('draws a lower bound as it is', () => {
  expect(communicationLines([at(0.1, 0.2)], true).whole).toEqual([0.1]);
});
