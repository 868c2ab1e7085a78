import { expect, it, vi } from 'vitest';

import { parseBar } from '../../output/lines/lines';
import { numbersOf } from '../../output/lines/numbers';
import { familiesOf } from '../../output/folding/positions';
import { rowsOf } from './lines';

vi.mock('../../output/lines/lines', async original => {
  const real = await original<{ parseBar: typeof parseBar }>();
  return { ...real, parseBar: vi.fn(real.parseBar) };
});
vi.mock('../../output/lines/numbers', async original => {
  const real = await original<{ numbersOf: typeof numbersOf }>();
  return { ...real, numbersOf: vi.fn(real.numbersOf) };
});
vi.mock('../../output/folding/positions', async original => {
  const real = await original<{ familiesOf: typeof familiesOf }>();
  return { ...real, familiesOf: vi.fn(real.familiesOf) };
});

it('reads each line once, although the log is folded again with each piece', () => {
  const lines = Array.from({ length: 40 }, (_, i) => ({
    time: 0,
    rank: i % 2,
    text: `step ${i >> 1} ${'abcdefghijklmnopqrstuvwxyz'.slice(i >> 1)}`,
    error: false
  }));
  for (const fold of [true, false]) {
    rowsOf(lines.slice(0, 30), fold);
    const reads = vi.mocked(parseBar);
    reads.mockClear();
    vi.mocked(numbersOf).mockClear();
    vi.mocked(familiesOf).mockClear();
    rowsOf(lines, fold);
    // a bar is looked for once for the lines that are one row
    expect(reads).toHaveBeenCalledTimes(5);
    expect(numbersOf).toHaveBeenCalledTimes(fold ? 10 : 0);
    expect(familiesOf).toHaveBeenCalledTimes(10);
  }
});
