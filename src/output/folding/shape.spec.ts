import { expect, it } from 'vitest';

import { foldLines, textOf } from './fold';
import { parseLines } from '../lines/lines';
import { readShape } from './shape';

const values = (of: number): string =>
  Array.from({ length: of }, (_, i) => String(i)).join(', ');
const fold = (text: string): string[] =>
  foldLines(parseLines(text, false)).map(
    line => `${line.ranks.join()}: ${textOf(line)}`
  );

it('keeps no text around each number of a line with very many', () => {
  expect(
    readShape(`losses ${values(8)}`, false, true, [0]).families
  ).toHaveLength(8 + 1);
  const { numbers, families } = readShape(
    `losses ${values(3000)}`,
    false,
    true,
    [0]
  );
  expect([numbers, families]).toEqual([[], []]);
});

it('folds lines with very many numbers only if they are equal, but for the rank that they name', () => {
  const many = values(300);
  expect(fold(`[0] ${many}\n[1] ${many}\n`)).toEqual([`0,1: ${many}`]);
  expect(fold(`[0] rank 0 ${many}\n[1] rank 1 ${many}\n`)).toEqual([
    `0,1: rank 0…1 ${many}`
  ]);
  expect(fold(`[0] ${many}, 7\n[1] ${many}, 8\n`)).toEqual([
    `0: ${many}, 7`,
    `1: ${many}, 8`
  ]);
});
