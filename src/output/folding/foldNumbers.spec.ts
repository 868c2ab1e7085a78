import { expect, it } from 'vitest';

import { foldLines, textOf as shown } from './fold';
import { ILine, parseLines } from '../lines/lines';

const fold = (text: string): ILine[] => foldLines(parseLines(text, false));

it('folds lines that differ in one measured number to the lowest rank and the range', () => {
  const [line, ...more] = fold(
    '[1] epoch 0 loss 2.180\n[0] epoch 0 loss 2.137\n[2] epoch 0 loss 2.101\n'
  );
  expect(more).toEqual([]);
  expect(line.ranks).toEqual([0, 1, 2]);
  expect(shown(line)).toBe('epoch 0 loss 2.137 (2.101 to 2.180)');
});

it('puts a range where its number stands', () => {
  const lines = fold(
    '[0] rank 0 of 2 on cpu; the sum over all ranks is 2\n' +
      '[1] rank 1 of 2 on cpu; the sum over all ranks is 2\n'
  );
  expect(lines.map(shown)).toEqual([
    'rank 0…1 of 2 on cpu; the sum over all ranks is 2'
  ]);
  expect(fold('[0] from 0\n[1] from 1\n').map(shown)).toEqual(['from 0…1']);
});

it('tells numbers that do not grow with the rank one by one: the culprit is seen', () => {
  const rows = (of: readonly number[]): string[] =>
    fold(of.map((n, rank) => `[${rank}] ${n} rows\n`).join('')).map(shown);
  expect(rows([1, 1, 0, 3])).toEqual(['1, 1, 0, 3 rows']);
  expect(rows([1, 0])).toEqual(['1, 0 rows']);
  expect(rows([10, 20, 30, 40])).toEqual(['10, 20, 30, 40 rows']);
  // no range, and no list with something left out
  expect(rows([15, 30])).toEqual(['15, 30 rows']);
  expect(rows([15, 16])).toEqual(['15…16 rows']);
  const fours = Array.from({ length: 16 }, (_, rank) => rank * 4);
  expect(rows(fours)).toEqual(['0 to 60 rows']);
  expect(fold('[0] 4 rows\n[2] 5 rows\n[7] 6 rows\n').map(shown)).toEqual([
    '4…6 rows'
  ]);
  // also at two places, however many ranks
  expect(
    fold(fours.map((n, rank) => `[${rank}] ${n} of ${n}\n`).join('')).map(shown)
  ).toEqual(['0 to 60 of 0 to 60']);
  expect(rows([10, 20, 30, 41])).toEqual(['10, 20, 30, 41 rows']);
  expect(fold('[0-2] 5 rows\n[3] 2 rows\n').map(shown)).toEqual([
    '5, 5, 5, 2 rows'
  ]);
  const many = Array.from({ length: 16 }, (_, i) => (i * 7) % 16);
  expect(rows(many)).toEqual(['0 to 15 rows']);
});

it('folds one whole number that each rank prints at several places', () => {
  const rows = (of: (rank: number) => string): string[] =>
    fold([0, 1, 2].map(r => `[${r}] ${of(r)}\n`).join('')).map(shown);
  expect(rows(r => `hello from ${r} step 1 ${r}`)).toEqual([
    'hello from 0…2 step 1 0…2'
  ]);
  const odd = [4, 1, 1];
  expect(rows(r => `${odd[r]} of ${odd[r]} done`)).toEqual([
    '4, 1, 1 of 4, 1, 1 done'
  ]);
  // a rank whose two numbers differ keeps its own line
  expect(rows(r => `from ${r} to ${r === 2 ? 3 : r}`)).toEqual([
    'from 0…1 to 0…1',
    'from 2 to 3'
  ]);
  expect(rows(r => `from ${r === 2 ? 1 : 0} to ${r}`)).toEqual([
    'from 0 to 0…1',
    'from 1 to 2'
  ]);
  expect(rows(r => `a 0.${r + 1} b 0.${r + 1}`)).toHaveLength(3);
});

it("folds lines that name their rank as well, each with its rank's own number", () => {
  const rows = (of: (rank: number) => string): string[] =>
    fold([2, 0, 1].map(r => `[${r}] ${of(r)}\n`).join('')).map(shown);
  expect(rows(r => `rank ${r} epoch 0 loss 0.5${r}`)).toEqual([
    'rank 0…2 epoch 0 loss 0.50 (0.50 to 0.52)'
  ]);
  expect(rows(r => `loss 0.5${r} on [rank ${r}] now`)).toEqual([
    'loss 0.50…0.52 on [rank 0…2] now'
  ]);
  expect(rows(r => `rank=${r} sends ${r} to rank 0`)).toEqual([
    'rank=0…2 sends 0…2 to rank 0'
  ]);
  // two other numbers, or one that is not the rank's own
  expect(rows(r => `rank ${r} loss 0.5${r} acc 0.${9 - r}`)).toHaveLength(3);
  expect(rows(r => `rank ${r + 1} epoch 0 loss 0.5${r}`)).toHaveLength(3);
  // a rank that is elsewhere in its loop keeps its own lines
  const turns = '[0] rank 0 epoch 0 loss 2.1\n[0] rank 0 epoch 1 loss 1.9\n';
  expect(fold(`${turns}[1] rank 1 epoch 1 loss 1.8\n`).map(shown)).toEqual([
    'rank 0 epoch 0 loss 2.1',
    'rank 0…1 epoch 1 loss 1.9 (1.8 to 1.9)'
  ]);
});

it('takes "line" for a place only where one is said to be in a file', () => {
  const rows = (of: (rank: number) => string): number =>
    fold([0, 1].map(r => `[${r}] ${of(r)}\n`).join('')).length;
  expect(rows(r => `stderr line ${r}`)).toBe(1);
  expect(rows(r => `wrote line=${r}`)).toBe(1);
  expect(rows(r => `File "a.py", line ${r}, in f`)).toBe(2);
  expect(rows(r => `the error is in line ${r}`)).toBe(2);
  expect(rows(r => `line ${r}`)).toBe(2);
});

it('folds nothing that differs in two numbers', () => {
  expect(fold('[0] loss 2.1 acc 0.5\n[1] loss 2.2 acc 0.6\n')).toHaveLength(2);
  // also not through a third line that differs from each in one number only
  expect(fold('[0] a 1 b 1\n[1] a 2 b 1\n[2] a 1 b 2\n')).toHaveLength(2);
});

it.each([
  ['pid 4711', 'pid 4712'],
  ['id=1 done', 'id=2 done'],
  ['2026-11-23 started', '2026-11-24 started'],
  ['at 12:00:01', 'at 12:00:02'],
  ['from 10.0.0.1', 'from 10.0.0.2'],
  ['0x1f', '0x2f'],
  ['commit 12ab34', 'commit 13ab34'],
  ['saved model-1.pt', 'saved model-2.pt'],
  ['data/part-0412.parquet', 'data/part-0413.parquet'],
  ['on cuda:0', 'on cuda:1'],
  ['port 29500', 'port 29501'],
  ['started 1764000000', 'started 1764000001'],
  ['version 1.2.3', 'version 1.2.4'],
  ['gpu 0', 'gpu 1'],
  ['Nov 23', 'Nov 24'],
  ['code 007', 'code 008']
])('never folds what tells things apart: %s', (a, b) => {
  expect(fold(`[0] ${a}\n[1] ${b}\n`)).toHaveLength(2);
});

it('leaves a value that stands out a line of its own', () => {
  const lines = fold('[2] 0 rows\n[0] 24,000 rows\n[3] 24,012 rows\n');
  expect(lines.map(l => [l.ranks, shown(l)])).toEqual([
    [[0, 3], '24,000, 24,012 rows'],
    [[2], '0 rows']
  ]);
  expect(fold('[0] loss 2.1\n[1] loss 900.5\n')).toHaveLength(2);
  expect(fold('[0] loss 2.1\n[1] loss nan\n')).toHaveLength(2);
});

it('folds values of either sign, as if all had the same one', () => {
  const rows = (...of: string[]): string[] =>
    fold(of.map((n, rank) => `[${rank}] temp ${n}\n`).join('')).map(shown);
  expect(rows('-1.5', '-0.5', '0.5')).toEqual(['temp -1.5 (-1.5 to 0.5)']);
  expect(rows('2.5', '-2.0')).toEqual(['temp 2.5 (-2.0 to 2.5)']);
  expect(rows('-100', '80')).toEqual(['temp -100, 80']);
  expect(rows('-0.5', '90.5')).toHaveLength(2);
  expect(rows('-90.5', '0.5')).toHaveLength(2);
});
