import { expect, it } from 'vitest';

import { fold, foldLines, textOf } from './fold';
import { ILine } from '../lines/lines';
import { readShape } from './shape';

/** A line of a step. */
interface IOfStep extends ILine {
  step: number;
}

/** What a rank prints in a step; empty if it prints nothing. */
type Prints = (rank: number, step: number) => string;

/** Lines of a loop of 3 ranks; those of one step come in the order of ranks, or in another one. */
function loop(steps: number, prints: Prints, turns = 0): IOfStep[] {
  return Array.from({ length: steps }, (_, i) =>
    [0, 1, 2]
      .map(i => (i * (turns + 1) + turns) % 3)
      .map(rank => ({
        ...{ ranks: [rank], error: false, step: i + 1 },
        text: prints(rank, i + 1)
      }))
      .filter(({ text }) => text)
  ).flat();
}

/** Rows that say of lines of different steps that they are one, but for lines that are equal. */
function untrue(lines: readonly IOfStep[], world?: number): string[] {
  return fold(lines, {
    shape: ({ text, error, ranks }) => readShape(text, error, true, ranks),
    world
  })
    .filter(({ of }) => new Set(of.map(({ step }) => step)).size > 1)
    .filter(({ of }) => new Set(of.map(({ text }) => plain(text))).size > 1)
    .map(({ line }) => `${line.ranks.join()} ${textOf(line)}`);
}

const plain = (text: string): string => text.replace(/^rank \d+/, '');
const shown = (lines: readonly ILine[], world?: number): string[] =>
  foldLines(lines, world).map(line => `${line.ranks.join()} ${textOf(line)}`);

const loss = (rank: number, step: number): string =>
  `loss ${(2 / step + rank / 1000).toFixed(3)}`;
const each =
  (rates: readonly number[], text: Prints): Prints =>
  (rank, step) =>
    rates[rank] && step % rates[rank] === 0 ? text(rank, step) : '';
const ticks: Prints = (rank, step) =>
  rank && step % (rank + 1) ? `tock ${step}` : rank ? '' : `at ${step}.5 s`;

it.each<[string, Prints]>([
  ['steps', each([3, 5, 4], (_, step) => `step ${step}`)],
  [
    'named ranks',
    each([3, 5, 4], (rank, step) => `rank ${rank} epoch ${step}`)
  ],
  ['some ranks', each([0, 5, 4], (_, step) => `checkpoint ${step} saved`)],
  ['a step and more', each([3, 5, 4], (_, step) => `step ${step} of 40`)],
  ['most steps', ticks],
  ['a loss', each([1, 5, 4], loss)],
  ['a loss of few ranks', each([0, 5, 4], loss)],
  ['two numbers', each([1, 5, 4], (r, step) => `${loss(r, step)} acc 0.5`)],
  ['short epochs', each([1, 2, 3], (_, step) => `batch ${step % 4}`)],
  ['short epochs of pieces', each([1, 2, 3], (_, step) => `piece ${step % 4}`)],
  ['turns', (rank, step) => (step % 3 === rank ? `step ${step}` : '')]
])('folds no two steps (%s), however short the output', (_, prints) => {
  for (const turns of [0, 1]) {
    const lines = loop(40, prints, turns);
    const world = 3;
    const found = lines.flatMap((_, i) => untrue(lines.slice(0, i + 1), world));
    expect(found).toEqual([]);
  }
});

it('folds no two steps of numbers that count, once they have, whatever they are called', () => {
  for (const prints of [
    each([3, 5, 4], (_, step) => `item ${step}`),
    each([3, 5, 4], loss),
    (rank: number, step: number) => `item ${step * 3 + rank}`
  ]) {
    const lines = loop(40, prints);
    const from = lines.findIndex(({ step }) => step > 9);
    expect(
      lines.slice(from).flatMap((_, i) => untrue(lines.slice(0, from + i)))
    ).toEqual([]);
  }
});

it('keeps lines of different steps in the order in which they came', () => {
  const lines = loop(
    7,
    each([3, 5, 4], (_, step) => `step ${step}`)
  );
  expect(shown(lines)).toEqual([
    ...['0 step 3', '2 step 4', '1 step 5', '0 step 6']
  ]);
});

it('folds what all ranks print in each step at any time, also if lines of a rank come late', () => {
  for (const late of [0, 1, 10]) {
    for (const prints of [
      loss,
      (rank: number) => `${[15, 30, 20][rank]} rows`,
      (rank: number, step: number) => `rank ${rank}: ${loss(rank, step)}`,
      (rank: number, step: number) => `${loss(rank, step)} at step ${step}`
    ]) {
      const all = loop(60, prints)
        .map((line, i) => ({ line, i }))
        .sort((a, b) => {
          const time = ({ line, i }: typeof a): number =>
            i + (line.ranks[0] === 1 ? 3.1 * late : 0);
          return time(a) - time(b);
        })
        .map(({ line }) => line);
      for (let i = 3 * late + 12; i < all.length; i += 7) {
        const here = all.slice(0, i + 1);
        const slow = Math.min(
          ...[0, 1, 2].map(r => here.filter(l => l.ranks[0] === r).length)
        );
        const folded = foldLines(here);
        expect(folded.filter(({ ranks }) => ranks.length === 3)).toHaveLength(
          slow
        );
      }
    }
  }
});

it('folds what nearly all ranks print, and not the line of some', () => {
  const lines = (ranks: readonly number[]): ILine[] =>
    ranks.map(r => ({ ranks: [r], text: `took ${r}.5 s`, error: false }));
  expect(foldLines(lines([2, 3]))).toHaveLength(1);
  expect(foldLines(lines([2, 3]), 3)).toHaveLength(2);
  expect(foldLines(lines([1, 2, 3]), 4)).toHaveLength(3);
  const most = Array.from({ length: 7 }, (_, rank) => rank + 1);
  expect(foldLines(lines(most), 8)).toHaveLength(1);
});

it('folds no two steps of a cell that is done, where a rank has left one out', () => {
  // it leaves out the pause of that step, too: its lines never come late
  const left = (rank: number, step: number): string =>
    rank === 1 && step === 3 ? '' : (1 / step + rank).toFixed(3);
  const came = [
    ...[1, 2].flatMap(step => [0, 1].map(rank => ({ rank, step }))),
    ...[3, 4, 5].flatMap(step => [
      { rank: 0, step },
      ...(step < 5 ? [{ rank: 1, step: step + 1 }] : [])
    ])
  ];
  const lines = came.map(({ rank, step }) => ({
    ...{ ranks: [rank], error: false },
    text: `loss ${left(rank, step)}`
  }));
  // while it runs, the last line of rank 1 may still come
  expect(foldLines(lines, 2)).toHaveLength(5);
  const done = foldLines(lines, 2, true);
  expect(done.map(({ range }) => range)).toEqual(lines.map(() => undefined));
  // more than three quarters of the ranks print equally often; one more line of one of them is in nobody's way
  const many = Array.from({ length: 8 }, (_, rank) =>
    Array.from({ length: rank ? 3 : 4 }, (_, step) => ({
      ...{ ranks: [rank], error: false },
      text: `loss ${(1 / (step + 2) + rank / 1000).toFixed(3)}`
    }))
  ).flat();
  const ranks = foldLines(many, 8, true).map(line => line.ranks.length);
  expect(ranks.filter(n => n === 7)).toHaveLength(3);
});

it('lists the numbers of ranks between which others are', () => {
  const lines = [0, 2].map(rank => ({
    ...{ ranks: [rank], error: false },
    text: `rank ${rank} on ${rank}`
  }));
  expect(shown(lines)).toEqual(['0,2 rank 0, 2 on 0, 2']);
});
