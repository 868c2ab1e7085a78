import { expect, it } from 'vitest';

import { foldLines, textOf as shown } from './fold';
import { ILine, parseLines } from '../lines/lines';
import { numbersOf } from '../lines/numbers';

const fold = (text: string): ILine[] => foldLines(parseLines(text, false));

it('puts bars that have ended in the order of ranks', () => {
  const lines = fold(
    '[1] 100%|████| 10/10 [00:00<00:00, 55.2it/s]\n' +
      '[0] 100%|████| 10/10 [00:01<00:00, 9.2it/s]\n'
  );
  expect(lines.map(line => line.ranks)).toEqual([[0], [1]]);
});

it('puts neighbours that differ in more than one number in the order of ranks', () => {
  const came =
    '[1] epoch 1 loss 2.3 acc 0.5\n[0] epoch 1 loss 2.2 acc 0.6\n' +
    '[0] epoch 2 loss 2.1 acc 0.7\n[1] epoch 2 loss 2.0 acc 0.8\n' +
    '[1] saved\n[0] epoch 3 loss 1.9 acc 0.9\n';
  const lines = fold(came);
  expect(lines.map(line => line.ranks)).toEqual([[0], [1], [0], [1], [1], [0]]);
  // each rank's own lines stay in the order in which it printed them
  expect(lines.map(line => line.text)[4]).toBe('saved');
});

it('puts lines of processes, ports or addresses in the order of ranks, but not those of other times', () => {
  const order = (of: (rank: number) => string): number[] =>
    fold([2, 0, 1].map(r => `[${r}] ${of(r)}\n`).join('')).map(
      line => line.ranks[0]
    );
  expect(order(r => `pid ${4573 - r}`)).toEqual([0, 1, 2]);
  expect(order(r => `on cuda:${r}, port ${29500 + r}`)).toEqual([0, 1, 2]);
  expect(order(r => `<object at 0x7f${r}a>`)).toEqual([0, 1, 2]);
  expect(order(r => `12:00:01 pid ${4573 - r}`)).toEqual([0, 1, 2]);
  expect(order(r => `12:00:0${(r + 1) % 3} pid ${4573 - r}`)).toEqual([
    2, 0, 1
  ]);
  // each rank's own lines stay in the order in which it printed them
  const lines = fold('[1] pid 9\n[1] pid 8\n[0] pid 7\n[1] pid 6\n');
  expect(lines.map(line => line.text.slice(4))).toEqual(['9', '7', '8', '6']);
});

it('folds the k-th line of a rank with the k-th of the others only', () => {
  const rows = (text: string): [readonly number[], string][] =>
    fold(text).map(line => [line.ranks, shown(line)]);
  const epoch = (rank: number, loss: string): string =>
    `[${rank}] epoch 0 loss ${loss}\n`;
  const folded = [
    [[0, 1], 'epoch 0 loss 0.000 (0.000 to 1.000)'],
    [[0, 1], 'epoch 0 loss 2.000 (2.000 to 3.000)']
  ];
  // the lines of one rank arrive before those of the other, or in turn
  expect(
    rows(
      epoch(0, '0.000') +
        epoch(0, '2.000') +
        epoch(1, '1.000') +
        epoch(1, '3.000')
    )
  ).toEqual(folded);
  // the first ones differ too much: the second ones are folded all the same
  const far = [
    [[0], 'epoch 0 loss 0.000'],
    [[1], 'epoch 0 loss 2.000'],
    [[0, 1], 'epoch 0 loss 3.000 (3.000 to 4.000)']
  ];
  const first = [epoch(0, '0.000'), epoch(1, '2.000')];
  const second = [epoch(0, '3.000'), epoch(1, '4.000')];
  expect(rows([...first, ...second].join(''))).toEqual(far);
  expect(rows(first[0] + second[0] + first[1] + second[1])).toEqual(far);
  expect(rows(first[1] + second[1] + first[0] + second[0])).toEqual(far);
});

it("counts lines that differ in one number, so that further lines of one rank are in nobody's way", () => {
  const rows = (text: string): string[] => fold(text).map(shown);
  expect(
    rows(
      '[0] saved\n[0] step 1 loss 2.1\n[0] step 2 loss 1.9\n[1] step 2 loss 1.8\n'
    )
  ).toEqual(['saved', 'step 1 loss 2.1', 'step 2 loss 1.9 (1.8 to 1.9)']);
  // a line that is equal on ranks ends the difference
  expect(
    rows('[0] loss 9.0\n[0-1] loss 1.5\n[0] loss 1.4\n[1] loss 1.3\n')
  ).toEqual(['loss 9.0', 'loss 1.5', 'loss 1.4 (1.3 to 1.4)']);
  expect(
    rows(
      '[0] from 0 step 1 0\n[0] from 0 step 2 0\n[1] from 1 step 1 1\n[1] from 1 step 2 1\n'
    )
  ).toEqual(['from 0…1 step 1 0…1', 'from 0…1 step 2 0…1']);
});

it('folds lines that other lines came between, and keeps the order of each rank', () => {
  const lines = fold('[0] a 0.1\n[0] b 0.1\n[1] a 0.2\n[1] b 0.2\n[0] a 0.3\n');
  expect(lines.map(l => [l.text, l.ranks.length])).toEqual([
    ['a 0.1', 2],
    ['b 0.1', 2],
    ['a 0.3', 1]
  ]);
});

it('folds a rank that is far behind', () => {
  const steps = Array.from({ length: 1000 }, (_, i) => `step ${i} loss 0.5`);
  const text = [0, 1].flatMap(r => steps.map(s => `[${r}] ${s}\n`)).join('');
  const lines = fold(text);
  expect(lines.map(l => l.text)).toEqual(steps);
  expect(lines.every(l => l.ranks.length === 2 && !l.range)).toBe(true);
});

it('knows no order between stdout and stderr of a rank', () => {
  const lines = [
    ...parseLines('[1] epoch 1 loss 2.1\n', false),
    ...parseLines('[1] 100%\n[0] 100%\n', true),
    ...parseLines('[0] epoch 1 loss 2.0\n', false)
  ];
  expect(foldLines(lines).map(l => [l.text, l.ranks.length])).toEqual([
    ['epoch 1 loss 2.0', 2],
    ['100%', 2]
  ]);
});

it('never folds two lines of one rank, nor stdout with stderr, nor what has no rank', () => {
  expect(fold('[0] 1\n[0] 2\n')).toHaveLength(2);
  expect(fold('same\nsame\n')).toHaveLength(2);
  const mixed = [
    ...parseLines('[0] 1\n', false),
    ...parseLines('[1] 1\n', true)
  ];
  expect(foldLines(mixed)).toHaveLength(2);
});

/** Pseudorandom numbers that are the same in each run. */
function* random(seed: number): Generator<number> {
  for (let x = seed; ;) {
    x = (x * 1103515245 + 12345) % 2147483648;
    yield x / 2147483648;
  }
}

it('says of any lines nothing that no rank has printed', () => {
  const next = random(7);
  const pick = <T>(of: readonly T[]): T =>
    of[Math.floor((next.next().value as number) * of.length)];
  const words = ['loss', 'rank', 'step', 'id', 'took', 'acc:', 'x=', 'of'];
  const numbers = ['0', '1', '2', '2.5', '2.51', '900', '12:01', '1e-3', '0x1'];
  for (let round = 0; round < 300; round++) {
    const printed = new Map<number, string[]>();
    let text = '';
    for (let i = 0; i < 12; i++) {
      const rank = Math.floor((next.next().value as number) * 4);
      const line = `${pick(words)} ${pick(numbers)} ${pick(words)} ${pick(numbers)}`;
      printed.set(rank, [...(printed.get(rank) ?? []), line]);
      text += `[${rank}] ${line}\n`;
    }
    const folded = fold(text);
    for (const [rank, lines] of printed) {
      const mine = folded.filter(l => l.ranks.includes(rank));
      // each rank's lines are complete and in order; a folded one differs from it in one number only
      expect(mine).toHaveLength(lines.length);
      mine.forEach((line, i) => {
        if (!line.range) {
          expect(lines[i]).toBe(line.text);
          return;
        }
        const { start, end, low, high, also = [], own } = line.range;
        const numbers = numbersOf(lines[i]);
        // all that differs, as this rank has it: its own number, and the same one at all other places
        const places = [{ start, end }, ...also, ...(own ? [own] : [])];
        const cut = (text: string): string =>
          numbersOf(text).reduceRight(
            (shown, n, k) =>
              places.some(p => numbersOf(line.text)[k]?.start === p.start)
                ? `${shown.slice(0, n.start)}#${shown.slice(n.end)}`
                : shown,
            text
          );
        expect(cut(lines[i])).toBe(cut(line.text));
        const numberAt = (at: number): (typeof numbers)[number] =>
          numbers[numbersOf(line.text).findIndex(n => n.start === at)];
        const { value } = numberAt(start);
        also.forEach(at => expect(numberAt(at.start).value).toBe(value));
        if (own) {
          expect(numberAt(own.start).text).toBe(String(rank));
        }
        expect(value).toBeGreaterThanOrEqual(Number(low));
        expect(value).toBeLessThanOrEqual(Number(high));
      });
    }
  }
});

it('folds coloured lines as plain ones, and what comes after them', () => {
  const line = (rank: number, text: string): ILine => ({
    ranks: [rank],
    text,
    error: false
  });
  const red = (rank: number): string => `\u001b[31mred\u001b[0m plain ${rank}`;
  const folded = foldLines([
    line(1, red(1)),
    line(1, 'rank 1 of 2 on cpu'),
    line(0, red(0)),
    line(0, 'rank 0 of 2 on cpu')
  ]);
  expect(folded.map(l => [l.ranks, l.range?.low, l.range?.high])).toEqual([
    [[0, 1], '0', '1'],
    [[0, 1], '0', '1']
  ]);
  const [{ text, range }] = folded;
  expect(text.slice(range?.start, range?.end)).toBe('0');
});

it('folds ranks again whose lines got out of step', () => {
  const row = (rank: number, i: number): string =>
    `[${rank}] row ${i}a of rank ${rank}\n`;
  let text = '';
  for (let i = 0; i < 300; i++) {
    text += row(1, i);
  }
  // rank 0 is far behind, and one of its lines arrives in two pieces
  for (let i = 0; i < 100; i++) {
    text += row(0, i);
  }
  text += '[0] row\n[0]  100a of rank 0\n';
  for (let i = 300; i < 1500; i++) {
    text += row(1, i) + row(0, i - 199);
  }
  for (let i = 1301; i < 1500; i++) {
    text += row(0, i);
  }
  const folded = fold(text);
  expect(folded).toHaveLength(1500 + 2);
  expect(folded[folded.length - 1].ranks).toEqual([0, 1]);
  for (const rank of [0, 1]) {
    const own = folded.filter(l => l.ranks.includes(rank)).map(l => l.text);
    const wanted = parseLines(text, false).filter(l => l.ranks[0] === rank);
    expect(own.map(l => l.replace(/rank \d/, ''))).toEqual(
      wanted.map(l => l.text.replace(/rank \d/, ''))
    );
  }
});

it('does not fold what ranks have printed in another order', () => {
  expect(
    fold('[0] one thing\n[0] another\n[1] another\n[1] one thing\n').map(l => [
      l.ranks,
      l.text
    ])
  ).toEqual([
    [[0], 'one thing'],
    [[0, 1], 'another'],
    [[1], 'one thing']
  ]);
});
