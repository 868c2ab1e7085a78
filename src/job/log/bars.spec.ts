import { expect, it } from 'vitest';

import { LogBars } from '../../tokens';
import { rowsOfBars, updatedBars } from './bars';

const of = (rank: number, rows: string[], time = 0): LogBars => ({
  time,
  rank,
  rows,
  error: true
});
const shown = (bars: readonly LogBars[]): string[][] =>
  rowsOfBars(bars).map(row => [row.ranks, row.text]);

it('keeps nested bars of each rank in their rows, and equal ones of ranks in one', () => {
  let bars = updatedBars(
    [],
    [of(0, ['epoch 1/2', 'batch 3/9']), of(1, ['epoch 1/2', 'batch 4/9'])]
  );
  const before = shown(bars);
  expect(before).toEqual([
    ['0–1', 'epoch 1/2'],
    ['0', 'batch 3/9'],
    ['1', 'batch 4/9']
  ]);
  bars = updatedBars(bars, [of(0, ['epoch 1/2', 'batch 5/9'], 7)]);
  expect(shown(bars)).toHaveLength(3);
  expect(shown(bars)).toContainEqual(['0', 'batch 5/9']);
  expect(rowsOfBars(bars).find(row => row.ranks === '0')?.time).toBe(7);
  expect(updatedBars(bars, [])).toBe(bars);
  // the bars have ended: their last states are lines of the log
  expect(shown(updatedBars(bars, [of(0, []), of(1, [])]))).toEqual([]);
});
