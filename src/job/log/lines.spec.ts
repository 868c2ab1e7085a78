import { expect, it } from 'vitest';

import { plain } from '../../output/lines/ansi';
import { foldLines, textOf } from '../../output/folding/fold';
import { parseLines } from '../../output/lines/lines';
import { LogLine, LogPiece } from '../../tokens';
import { matchesIn } from './find';
import { rowsOf } from './lines';
import { extended } from './logReader';

const line = (rank: number, text: string, time = 0): LogLine => ({
  time,
  rank,
  text,
  error: false
});

const NO_PART = {
  lines: [],
  bars: [],
  from: 0,
  start: true,
  end: '',
  more: false
};
const pieceOf = (
  lines: LogLine[]
): Pick<LogPiece, 'lines' | 'bars' | 'offset' | 'more'> => ({
  lines,
  bars: [],
  offset: '',
  more: false
});

it('shows an equal line of several ranks once', () => {
  const rows = rowsOf([line(0, 'hi'), line(2, 'hi'), line(1, 'hi')], false);
  expect(rows.map(r => [r.ranks, r.count, r.text])).toEqual([['0–2', 3, 'hi']]);
});

it('shows it once, too, where the lines of ranks come by turns', () => {
  const lines = [line(0, 'a'), line(0, 'b'), line(1, 'a'), line(1, 'b')];
  const rows = rowsOf(lines, true);
  expect(rows.map(r => [r.ranks, r.text])).toEqual([
    ['0–1', 'a'],
    ['0–1', 'b']
  ]);
});

it('keeps the order of each rank', () => {
  const lines = [line(0, 'a'), line(0, 'b'), line(1, 'b'), line(1, 'a')];
  expect(rowsOf(lines, true).map(r => [r.ranks, r.text])).toEqual([
    ['0', 'a'],
    ['0–1', 'b'],
    ['1', 'a']
  ]);
});

it('keeps lines of one rank, and those that come much later', () => {
  expect(rowsOf([line(0, 'hi'), line(0, 'hi')], false)).toHaveLength(2);
  expect(rowsOf([line(0, 'hi'), line(1, 'hi', 9)], false)).toHaveLength(2);
});

it('folds lines of ranks by the rule of the output of cells', () => {
  const many = Array.from({ length: 16 }, (_, i): [number, string] => [
    i,
    `${(i * 7) % 16} rows`
  ]);
  const printed: [number, string][] = [
    [0, 'step 1 loss 0.5'],
    [0, 'step 2 loss 0.25'],
    [1, 'step 2 loss 0.26'],
    [0, 'epoch 3'],
    [1, 'epoch 4'],
    [0, '\u001b[32mstep\u001b[0m 5 of 9'],
    [1, '\u001b[32mstep\u001b[0m 10 of 9'],
    [0, '1 file'],
    [0, '2 files'],
    [0, '3 files'],
    [1, '3 files'],
    [2, '5 files'],
    [0, 'from 0 step 1 0'],
    [0, 'from 0 step 2 0'],
    [1, 'from 1 step 1 1'],
    [1, 'from 1 step 2 1'],
    ...many
  ];
  const lines = printed.map(([rank, text]) => line(rank, text));
  const text = printed.map(([rank, text]) => `[${rank}] ${text}\n`).join('');
  const cells = foldLines(parseLines(text, false));
  const rows = rowsOf(lines, true);
  expect(rows.map(r => [r.members, r.text])).toEqual(
    cells.map(l => [l.ranks, textOf(l)])
  );
  expect(rows.map(r => r.text)).toContain('step 2 loss 0.25 (0.25 to 0.26)');
  // on stderr, too
  const errors = rowsOf(
    lines.map(l => ({ ...l, error: true })),
    true
  );
  expect(errors.map(r => r.text)).toEqual(rows.map(r => r.text));
  expect(rowsOf(lines, false)).toHaveLength(lines.length - 1);
  // each is found by what its ranks wrote
  for (const [rank, text] of printed) {
    const found = matchesIn(rows, plain(text)).map(i => rows[i].members);
    expect(found.some(members => members.includes(rank))).toBe(true);
  }
});

it('folds ranks that are seconds apart, and no attempt of a job with another', () => {
  const said = (time: number): string[] =>
    rowsOf([line(0, 'rank 0'), line(1, 'rank 1', time)], true).map(r => r.text);
  expect(said(4)).toEqual(['rank 0…1']);
  expect(said(6)).toEqual(['rank 0', 'rank 1']);
});

it('counts the very same line again, and shows each when asked', () => {
  const lines = [0, 5, 10].flatMap(t => [
    line(0, 'waiting', t),
    line(1, 'waiting', t)
  ]);
  const [row, ...none] = rowsOf(lines, true);
  expect([row.ranks, row.text, row.like]).toEqual(['0–1', 'waiting', 2]);
  expect(none).toEqual([]);
  expect(rowsOf(lines, true, new Set([row.key]))).toHaveLength(3);
  expect(rowsOf(lines, false)).toHaveLength(3);
});

it('keeps keys of rows where earlier lines have gone', () => {
  const lines = Array.from({ length: 5 }, (_, i) => line(0, `${i}`, i));
  const keys = rowsOf(lines, true).map(r => r.key);
  expect(rowsOf(lines.slice(2), true, new Set(), 2).map(r => r.key)).toEqual(
    keys.slice(2)
  );
  const part = extended(NO_PART, pieceOf(lines));
  const more = Array.from({ length: 20_000 }, () => line(1, 'more', 9));
  const full = extended(part, pieceOf(more));
  expect([full.lines.length, full.from]).toEqual([20_000, 5]);
});

it('has a bar and what was printed behind it as lines of their own, as cells do', () => {
  const bar = ' 40%|####      | 4/10 [00:01<00:02, 3.20it/s]';
  const lines = [0, 1].map(rank => line(rank, `${bar}loss 0.${rank + 5}`));
  const part = extended(NO_PART, pieceOf(lines));
  expect(rowsOf(part.lines, true).map(r => [r.ranks, r.text])).toEqual([
    ['0–1', bar],
    ['0–1', 'loss 0.5 (0.5 to 0.6)']
  ]);
});

it('folds lines of one step, too, where the log begins in the middle of another', () => {
  const lines = [0, 1, 2, 3].flatMap(step =>
    [0, 1, 2].map(rank =>
      line(rank, `loss ${(4 - step).toFixed(1)}${rank}`, step + rank / 100)
    )
  );
  const said = (shown: LogLine[], isCut: boolean): string[] =>
    rowsOf(shown, true, new Set(), 0, null, isCut).map(
      r => `${r.ranks}: ${r.text}`
    );
  const last = [
    '0–2: loss 2.00 (2.00 to 2.02)',
    '0–2: loss 1.00 (1.00 to 1.02)'
  ];
  expect(said(lines, false).slice(-2)).toEqual(last);
  // of the first step, the line of rank 0 was cut off
  expect(said(lines.slice(1), true)).toEqual([
    '1–2: loss 4.01 (4.01 to 4.02)',
    '0–2: loss 3.00 (3.00 to 3.02)',
    ...last
  ]);
  expect(said(lines.slice(2), true).slice(-3)).toEqual([
    '0–2: loss 3.00 (3.00 to 3.02)',
    ...last
  ]);
  // ranks that print faster than they are together are folded as they come
  const fast = lines.map(l => ({ ...l, time: l.time / 100 }));
  expect(said(fast, true).slice(-2)).toEqual(last);
});
