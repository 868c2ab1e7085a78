import { expect, it } from 'vitest';

import { LogLine } from '../../tokens';
import { matchesIn } from './find';
import { rowsOf } from './lines';
import { extended } from './logReader';

const line = (rank: number, text: string, time = 0): LogLine => ({
  time,
  rank,
  text,
  error: false
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

it('hides nothing that carries a value', () => {
  const lines = [
    line(0, 'step 1 loss 0.5'),
    line(0, 'step 2 loss 0.25'),
    line(1, 'step 2 loss 0.26'),
    line(0, 'epoch 3'),
    line(1, 'epoch 4'),
    line(0, '\u001b[32mstep\u001b[0m 5 of 9'),
    line(1, '\u001b[32mstep\u001b[0m 10 of 9')
  ];
  const rows = rowsOf(lines, true);
  expect(rows.map(r => [r.ranks, r.text, r.like])).toEqual(
    lines.map(l => [`${l.rank}`, l.text, 0])
  );
});

it('folds lines of ranks that differ in one whole number where each can be read', () => {
  const said = (numbers: readonly number[], fold = true) =>
    rowsOf(
      numbers.map((n, rank) => line(rank, `rank ${rank} has ${n} rows`)),
      fold
    ).map(r => [r.ranks, r.text]);
  expect(said([5, 5, 5])).toEqual([['0–2', 'rank 0…2 has 5 rows']]);
  expect(said([0, 1, 2])).toEqual([['0–2', 'rank 0…2 has 0…2 rows']]);
  expect(said([5, 6])).toHaveLength(2); // two numbers differ
  const rows = (numbers: readonly number[], fold = true) =>
    rowsOf(
      numbers.map((n, rank) => line(rank, `${n} rows`)),
      fold
    ).map(r => [r.ranks, r.text]);
  expect(rows([0, 1, 2, 3])).toEqual([['0–3', '0…3 rows']]);
  expect(rows([1, 1, 0, 3])).toEqual([['0–3', '1, 1, 0, 3 rows']]);
  expect(rows([0, 1, 2, 3], false)).toHaveLength(4);
  // of many in no order no rank's could be told: the next ones are in a row of their own
  const many = rows(Array.from({ length: 16 }, (_, i) => (i * 7) % 16));
  expect(many).toEqual([
    ['0–7', '0, 7, 14, 5, 12, 3, 10, 1 rows'],
    ['8–15', '8, 15, 6, 13, 4, 11, 2, 9 rows']
  ]);
});

it('prefers the very same line, and is found by what each rank wrote', () => {
  const lines = [
    line(0, '1 file'),
    line(0, '2 files'),
    line(0, '3 files'),
    line(1, '3 files'),
    line(2, '5 files')
  ];
  const rows = rowsOf(lines, true);
  expect(rows.map(r => [r.ranks, r.text])).toEqual([
    ['0', '1 file'],
    ['0, 2', '2…5 files'],
    ['0–1', '3 files']
  ]);
  expect(matchesIn(rows, '5 files')).toEqual([1]);
  expect(matchesIn(rows, '2 files')).toEqual([1]);
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
  const part = extended({ lines: [], from: 0, start: true }, lines);
  const full = extended(
    part,
    Array.from({ length: 20_000 }, () => line(1, 'more', 9))
  );
  expect([full.lines.length, full.from]).toEqual([20_000, 5]);
});
