import { expect, it } from 'vitest';

import { lastLines } from './lastOutput';

it('finds the last lines of a rank', () => {
  const piece = (ranks: number[], text: string | null) => ({
    seq: 0,
    time: 0,
    cell: '[1]',
    kind: 'stdout' as const,
    ranks,
    text,
    data: null
  });
  const outputs = [
    piece([0, 1], 'both\n'),
    piece([0], 'other\n'),
    piece([1], 'half '),
    piece([1], null),
    piece([1], 'a line\n')
  ];
  expect(lastLines(outputs, 1)).toEqual(['both', 'half a line']);
});
