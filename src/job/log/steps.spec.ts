import { expect, it } from 'vitest';

import { foldLines, textOf } from '../../output/folding/fold';
import { ILine } from '../../output/lines/lines';
import { rowsOf } from './lines';

/** A printed line, and when it arrives, s. */
interface IPrinted {
  rank: number;
  text: string;
  time: number;
}

/** Lines that a loop prints. */
function loop(
  ranks: number,
  steps: number,
  of: (rank: number, step: number) => string | readonly string[],
  late: (rank: number, step: number) => number
): IPrinted[] {
  const printed: IPrinted[] = [];
  const last = new Map<number, number>();
  for (let step = 0; step < steps; step++) {
    for (let rank = 0; rank < ranks; rank++) {
      // the lines of one rank keep their order
      const time = Math.max(step + late(rank, step), last.get(rank) ?? 0);
      last.set(rank, time);
      for (const text of [of(rank, step)].flat()) {
        printed.push({ rank, text, time });
      }
    }
  }
  return printed
    .filter(({ text }) => text)
    .map((line, i) => ({ line, i }))
    .sort((a, b) => a.line.time - b.line.time || a.i - b.i)
    .map(({ line }) => line);
}

/** The lines as the kernel writes them: equal ones that arrive at the same time are one. */
function merged(printed: readonly IPrinted[]): ILine[] {
  const lines: (ILine & { time: number })[] = [];
  for (const { rank, text, time } of printed) {
    const same = lines.find(l => l.time === time && l.text === text);
    if (same) {
      same.ranks = [...same.ranks, rank].sort((a, b) => a - b);
    } else {
      lines.push({ ranks: [rank], text, time, error: false });
    }
  }
  return lines;
}

const shown = (lines: readonly ILine[]): string[] =>
  foldLines(lines).map(line => `${line.ranks.join()} ${textOf(line)}`);

/** Delays of ranks: all at once, each rank ahead, jitter, and one rank half a step or three steps behind. */
const DELAYS: [string, (rank: number, step: number) => number][] = [
  ['at once', () => 0],
  ['rank 0 first', rank => rank / 100],
  ['rank 0 last', rank => (2 - rank) / 100],
  ['by turns', (rank, step) => ((rank + step) % 3) / 100],
  ['in some order', (rank, step) => ((rank * 7 + step * 5) % 11) / 100],
  ['rank 2 half a step late', rank => (rank === 2 ? 0.5 : 0)],
  ['rank 1 three steps late', rank => (rank === 1 ? 3.1 : 0)],
  ['rank 0 three steps late', rank => (rank === 0 ? 3.1 : 0)]
];

/** Loops of which rank 0 prints each step, and the others some. */
const SOME: [string, (rank: number, step: number) => string][] = [
  ['step', (_, step) => `step ${step}`],
  ['rank and step', (rank, step) => `rank ${rank}: step ${step}`],
  ['epoch and step', (_, step) => `epoch ${step > 30 ? 1 : 0} step ${step}`],
  ['an epoch of 26', (_, step) => `step ${step % 26} of 26`],
  ['step and what is equal', (_, step) => `step ${step} loss 0.00`],
  ['countdown', (_, step) => `${60 - step} left`]
];

for (const [late, delay] of DELAYS) {
  for (const [what, text] of SOME) {
    it.each([2, 4, 5, 13])(
      `folds no two steps (${what}, ${late}), where others print each %i-th, at any time`,
      every => {
        const of = (rank: number, step: number): string =>
          !rank || step % every === 0 ? text(rank, step) : '';
        const printed = loop(3, 60, of, delay);
        const lines = merged(printed);
        // each step once, with all ranks that have printed it
        const wanted = Array.from({ length: 60 }, (_, step) => {
          const ranks = [0, 1, 2].filter(rank => of(rank, step));
          const own = text(0, step).replace('rank 0', 'rank 0…2');
          return `${ranks.join()} ${ranks.length > 1 ? own : text(0, step)}`;
        });
        expect(shown(lines)).toEqual(wanted);
        // live, too: once rank 0 has printed some steps that all print, no line is one of two steps
        const some = text(0, every * 3);
        const from = lines.findIndex(
          l => l.ranks.includes(0) && l.text === some
        );
        expect(from).toBeGreaterThan(0);
        for (let i = from; i < lines.length; i += 7) {
          const here = foldLines(lines.slice(0, i + 1));
          expect(
            here.filter(l =>
              textOf(l)
                .replace(/^rank [^:]*/, '')
                .includes(',')
            )
          ).toEqual([]);
        }
        const log = rowsOf(
          printed.map(l => ({ ...l, error: false })),
          true
        );
        expect(log.map(r => `${r.members.join()} ${r.text}`)).toEqual(wanted);
      }
    );
  }
}

it('does not fold a line that one rank prints once in the middle with an earlier one of another', () => {
  const said = (order: readonly string[]): string[] =>
    shown(
      order.map(line => ({
        ranks: [Number(line[0])],
        text: `step ${line.slice(2)}`,
        error: false
      }))
    );
  const wanted = ['0 step 0', '0 step 1', '0 step 2', '0,1 step 3', '0 step 4'];
  expect(said(['0 0', '0 1', '0 2', '0 3', '1 3', '0 4'])).toEqual(wanted);
  expect(said(['0 0', '0 1', '0 2', '1 3', '0 3', '0 4'])).toEqual(wanted);
  expect(said(['1 3', '0 0', '0 1', '0 2', '0 3', '0 4'])).toEqual(wanted);
});

it('folds nothing of ranks that print at different rates, if no line tells the step', () => {
  const of = (rank: number, step: number): string =>
    !rank || step % 5 === 0 ? `loss 0.${100 + step * 7 + rank}` : '';
  const folded = foldLines(merged(loop(3, 60, of, rank => rank / 100)));
  expect(folded.map(line => line.ranks.length)).toEqual(Array(84).fill(1));
});

/** Loops of which each rank prints each step. */
const ALL: [string, (rank: number, step: number) => string | string[]][] = [
  ['loss', (rank, step) => `loss ${(9 / (step + 1) + rank / 100).toFixed(3)}`],
  ['step and loss', (rank, step) => `step ${step} loss 0.${10 + step + rank}`],
  [
    'two lines',
    (rank, step) => [`rank ${rank} step ${step}`, `acc 0.${10 + step + rank}`]
  ],
  [
    'step and a count that grows',
    (rank, step) => `step ${step}: ${step * 64 + rank * 2} samples`
  ],
  ['rows', (rank, step) => `${(step * 5 + rank * 3) % 7} rows`]
];

for (const [late, delay] of DELAYS) {
  it.each(ALL)(
    `folds each step of ranks that print the same lines (%s, ${late})`,
    (_, of) => {
      const printed = loop(3, 40, of, delay);
      const rows = foldLines(merged(printed));
      expect(rows.map(row => row.ranks.join())).toEqual(
        Array(printed.length / 3).fill('0,1,2')
      );
    }
  );
}

it('folds ranks that send many lines at once, as long as they have sent them', () => {
  const printed = loop(3, 60, ALL[0][1], (rank, step) => {
    const block = Math.floor(step / 20) * 20 + 20;
    return block - step + rank / 10;
  });
  const rows = foldLines(merged(printed));
  expect(rows.map(row => row.ranks.join())).toEqual(Array(60).fill('0,1,2'));
});

it('folds 1,024 ranks of which the first prints each step, and reads each line a few times only', () => {
  const of = (rank: number, step: number): string =>
    !rank || step % 5 === 0 ? `rank ${rank}: step ${step}` : '';
  const printed = loop(1024, 21, of, rank => ((rank * 7) % 11) / 100);
  let reads = 0;
  const lines = printed.map(({ rank, text }) => ({
    ranks: [rank],
    error: false,
    get text(): string {
      reads++;
      return text;
    }
  }));
  expect(foldLines(lines).map(line => line.ranks.length)).toEqual(
    Array.from({ length: 21 }, (_, step) => (step % 5 ? 1 : 1024))
  );
  expect(reads).toBeLessThan(20 * printed.length);
});
