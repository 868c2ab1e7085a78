import { expect, it } from 'vitest';

import { IPoint } from '../tokens';
import { CURVE, curvePoints } from './curve';

const points = (...samples: (number | null)[]): IPoint[] =>
  samples.map((value, at) => ({
    at,
    samples: value,
    overhead: null
  })) as unknown as IPoint[];
const idle = (count: number): null[] => Array<null>(count).fill(null);

it('has the last steps of a cluster that is idle, however long ago they were', () => {
  const past = points(1, 2, 3, ...idle(5 * CURVE));
  expect(curvePoints(past, false).map(p => p.samples)).toEqual([1, 2, 3]);
  const long = points(...Array.from({ length: 2 * CURVE }, (_, i) => i), null);
  const shown = curvePoints(long, false);
  expect(shown).toHaveLength(CURVE);
  expect(shown[CURVE - 1].samples).toBe(2 * CURVE - 1);
});

it('has the latest points of one that trains, or has never trained', () => {
  const begun = points(...idle(2 * CURVE), 7);
  expect(curvePoints(begun, true)).toEqual(begun.slice(-CURVE));
  expect(curvePoints(points(...idle(3)), false)).toHaveLength(3);
});
