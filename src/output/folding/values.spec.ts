import { expect, it } from 'vitest';

import { fold } from './fold';
import { parseLines } from '../lines/lines';
import { INumber } from '../lines/numbers';
import { readShape } from './shape';

/** How often numbers are read to fold the lines of some ranks, and how many lines are left. */
function folded(
  ranks: number,
  textOf: (rank: number) => string
): { reads: number; left: number } {
  const text = Array.from({ length: ranks }, (_, r) => `[${r}] ${textOf(r)}\n`);
  let reads = 0;
  const counted = (number: INumber): INumber => ({
    ...number,
    get value() {
      reads++;
      return number.value;
    }
  });
  const rows = fold(parseLines(text.join(''), false), {
    shape: line => {
      const read = readShape(line.text, line.error, true, line.ranks);
      const { own, shape, like, families } = read;
      const numbers = read.numbers.map(counted);
      return { numbers, own, shape, like, families };
    }
  });
  return { reads, left: rows.length };
}

it.each([
  ['one number', (r: number) => `loss ${(2 + r / 1000).toFixed(3)}`],
  ['an integer at two places', (r: number) => `a ${r} of b ${r}`],
  ['a number that some ranks repeat', (r: number) => `a ${r >> 3} of b`]
])('looks at each line a few times, however many fold: %s', (_, textOf) => {
  const [few, many] = [32, 64].map(ranks => folded(ranks, textOf));
  expect([few.left, many.left]).toEqual([1, 1]);
  expect(many.reads).toBeLessThan(3 * few.reads);
});

it.each([
  ['that grow evenly', [0, 3, 6, 9, 12, 15, 18, 21, 24, 27], 1],
  ['that are consecutive, whichever rank came last', [3, 0, 1, 2], 1],
  ['that fall', [9, 8, 7, 6, 5, 4, 3, 2, 1, 0], 2],
  ['that repeat', [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], 2],
  ['that leave one out', [0, 1, 2, 3, 4, 5, 6, 7, 8, 10], 2]
])(
  'folds integers of more than eight ranks if they can be displayed: %s',
  (_, values, left) => {
    expect(
      folded(values.length, r => `a ${values[r]} of b ${values[r]}`).left
    ).toBe(left);
  }
);
