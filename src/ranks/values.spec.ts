import { expect, it } from 'vitest';

import { IPoint } from '../tokens';
import { loggedAt } from './values';

it('ends the line of a value where nothing trains and it does not change any more', () => {
  const at = (loss: number, samples: number | null): IPoint =>
    ({ samples, overhead: null, values: { loss } }) as unknown as IPoint;
  const points = [at(2, 9), at(2, 9), at(1, null), at(1, null), at(1, null)];
  expect(loggedAt(points, 'loss')).toEqual([2, 2, 1, null, null]);
  expect(loggedAt(points.slice(3), 'loss')).toEqual([null, null]);
});
