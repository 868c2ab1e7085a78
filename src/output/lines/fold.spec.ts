import { expect, it } from 'vitest';

import { foldLines } from './fold';
import { ILine, parseLines } from './lines';
import { numbersOf } from './numbers';

const fold = (text: string): ILine[] => foldLines(parseLines(text, false));

/** A line as the user sees it. */
function shown({ text, range }: ILine): string {
  if (!range) {
    return text;
  }
  const { low, high, inline } = range;
  if (inline === null) {
    return `${text} (${low} to ${high})`;
  }
  return [range, ...(range.also ?? [])].reduceRight(
    (shown, { start, end }) =>
      `${shown.slice(0, start)}${inline}${shown.slice(end)}`,
    text
  );
}

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
  expect(rows([10, 20, 30, 40])).toEqual(['10…40 rows']);
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

it('puts bars that have ended in the order of ranks', () => {
  const lines = fold(
    '[1] 100%|████| 10/10 [00:00<00:00, 55.2it/s]\n' +
      '[0] 100%|████| 10/10 [00:01<00:00, 9.2it/s]\n'
  );
  expect(lines.map(line => line.ranks)).toEqual([[0], [1]]);
});

it('folds nothing that differs in two numbers', () => {
  expect(fold('[0] loss 2.1 acc 0.5\n[1] loss 2.2 acc 0.6\n')).toHaveLength(2);
  // also not through a third line that differs from each in one number only
  expect(fold('[0] a 1 b 1\n[1] a 2 b 1\n[2] a 1 b 2\n')).toHaveLength(2);
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
    [[0, 3], '24,000…24,012 rows'],
    [[2], '0 rows']
  ]);
  expect(fold('[0] loss 2.1\n[1] loss 900.5\n')).toHaveLength(2);
  expect(fold('[0] loss 2.1\n[1] loss nan\n')).toHaveLength(2);
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
  const lines = fold('[0] a 1\n[0] b 1\n[1] a 2\n[1] b 2\n[0] a 3\n');
  expect(lines.map(l => [l.text, l.ranks.length])).toEqual([
    ['a 1', 2],
    ['b 1', 2],
    ['a 3', 1]
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
        const { start, end, low, high, also = [] } = line.range;
        const head = line.text.slice(0, start);
        const own = numbersOf(lines[i]).find(n => n.start === start)!;
        const said = [{ start, end }, ...also].reduceRight(
          (shown, at) =>
            shown.slice(0, at.start) + own.text + shown.slice(at.end),
          line.text
        );
        expect(lines[i].startsWith(head) && lines[i] === said).toBe(true);
        const { value } = own;
        expect(value).toBeGreaterThanOrEqual(Number(low));
        expect(value).toBeLessThanOrEqual(Number(high));
      });
    }
  }
});

it('finds numbers with their units and keys, and no others', () => {
  const of = (text: string): string[] => numbersOf(text).map(n => n.text);
  expect(of('took 3.2s, loss=2.1 (12%) 1,024 samples/s -1e-3.')).toEqual([
    '3.2',
    '2.1',
    '12',
    '1,024',
    '-1e-3'
  ]);
  expect(of('a1 v2 x-3')).toEqual([]);
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
