import { expect, it } from 'vitest';

import { LogLine } from '../../tokens';
import { nextRow } from './find';
import { followsFrom } from './follows';
import { goesOn, placeOf, rowsOf } from './lines';
import { extended } from './reader';

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

it('leaves the tracebacks of two ranks apart', () => {
  const head = 'Traceback (most recent call last):';
  const lines = [line(1, head), line(1, 'a'), line(0, head), line(0, 'b')];
  expect(rowsOf(lines, true).map(r => [r.ranks, r.text])).toEqual([
    ['1', head],
    ['1', 'a'],
    ['0', head],
    ['0', 'b']
  ]);
});

it('folds the tracebacks of two ranks that are the same, also where their lines come by turns', () => {
  const texts = [
    'Traceback (most recent call last):',
    '  File "job.ipynb[3]", line 2, in <module>',
    '  File "/x/site-packages/torch/a.py", line 7, in f',
    '    call()',
    'ValueError: it is not finite'
  ];
  const of = (rank: number, time: number): LogLine[] =>
    texts.map(text => ({ ...line(rank, text, time), error: true }));
  const [one, two] = [of(1, 0), of(0, 3)];
  const turns = one.flatMap((first, at) => [first, two[at]]);
  for (const lines of [[...one, ...two], turns]) {
    expect(
      rowsOf([...lines, line(0, 'end', 4)], true).map(r => [r.ranks, r.text])
    ).toEqual([
      ['0–1', texts[0]],
      ['0–1', texts[1]],
      ['0–1', ''],
      ['0–1', texts[4]],
      ['0', 'end']
    ]);
    expect(rowsOf(lines, false)).toHaveLength(10);
  }
  const cause = [
    ...one,
    ...[
      '',
      'During handling of the above exception, another exception occurred:',
      ''
    ].map(text => ({ ...line(1, text), error: true })),
    ...of(1, 1)
  ];
  const both = [
    ...cause,
    line(0, 'begin', 1),
    ...cause.map(l => ({ ...l, rank: 0 }))
  ];
  expect(rowsOf(both, true).map(r => r.ranks)).toEqual([
    '0',
    ...Array(11).fill('0–1')
  ]);
  const other = two.map((l, at) => (at === 1 ? { ...l, text: '  b' } : l));
  expect(rowsOf([...one, ...other], true)).toHaveLength(8);
  const late = two.map(l => ({ ...l, time: 60 }));
  expect(rowsOf([...one, ...late], true)).toHaveLength(8);
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
  expect(nextRow(rows, '5 files', 0)).toBe(1);
  expect(nextRow(rows, '2 files', 0)).toBe(1);
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

it('finds the cell of a traceback and what only follows from another rank', () => {
  expect(
    placeOf('  File "train.ipynb[4]", line 18, in <module>')
  ).toMatchObject({
    notebook: 'train.ipynb',
    cell: '[4]',
    line: 18
  });
  expect(placeOf('  File "Größe π.ipynb[4]", line 18')?.notebook).toBe(
    'Größe π.ipynb'
  );
  expect(placeOf('  File "model.py", line 3')).toBeNull();
  expect(followsFrom('RuntimeError: Connection closed by peer [::1]:3')).toBe(
    true
  );
});

it('folds the frames of libraries in a traceback, and shows them when asked', () => {
  const error = (text: string): LogLine => ({ ...line(1, text), error: true });
  const lines = [
    error('Traceback (most recent call last):'),
    error('  File "a.ipynb[1]", line 2, in <module>'),
    error('    loss.backward()'),
    error('  File "/x/site-packages/torch/_tensor.py", line 6, in backward'),
    error('    torch.autograd.backward('),
    error('  File "/x/site-packages/torch/graph.py", line 9, in run'),
    error('RuntimeError: no')
  ];
  const rows = rowsOf(lines, true);
  expect(rows.map(r => r.frames || r.text)).toEqual([
    'Traceback (most recent call last):',
    '  File "a.ipynb[1]", line 2, in <module>',
    '    loss.backward()',
    2,
    'RuntimeError: no'
  ]);
  const folded = rows.find(r => r.frames)!;
  const open = rowsOf(lines, true, new Set([folded.key]));
  expect(open.map(r => r.text)).toEqual(lines.map(l => l.text));
});

it('takes the lines of a traceback as one, and another one as another', () => {
  const error = (rank: number, text: string): LogLine => ({
    ...line(rank, text),
    error: true
  });
  const rows = rowsOf(
    [
      line(0, 'step 1'),
      error(1, 'Traceback (most recent call last):'),
      error(1, 'ValueError: no data'),
      error(0, 'Traceback (most recent call last):'),
      error(0, 'RuntimeError: closed')
    ],
    true
  );
  expect(rows.map((row, i) => goesOn(rows[i - 1], row))).toEqual([
    false,
    false,
    true,
    false,
    true
  ]);
});

it('tells tracebacks from what else is on stderr', () => {
  const texts = [
    'job.ipynb[2]:3: UserWarning: from the job',
    "  warnings.warn('from the job')",
    'Traceback (most recent call last):',
    '  File "job.ipynb[4]", line 9, in <module>',
    '    d[3]',
    'KeyError: 3',
    '',
    'During handling of the above exception, another exception occurred:',
    '',
    'Traceback (most recent call last):',
    '  File "job.ipynb[4]", line 11, in <module>',
    'ValueError: no',
    'saved'
  ];
  const rows = rowsOf(
    texts.map(text => ({ ...line(0, text), error: true })),
    true
  );
  expect(rows.filter(r => !r.failed).map(r => r.text)).toEqual([
    texts[0],
    texts[1],
    'saved'
  ]);
});

it('names the cell of a line of a traceback, apart from what is around it', () => {
  expect(placeOf('  File "job.ipynb[4]", line 9, in <module>')).toEqual({
    notebook: 'job.ipynb',
    cell: '[4]',
    line: 9,
    before: '  ',
    after: ', in <module>'
  });
});

it('keeps the lines of an error\u2019s message together, and ranks whose messages differ apart', () => {
  const error = (rank: number, time: number, text: string): LogLine =>
    ({ rank, time, text, error: true }) as LogLine;
  const failure = (rank: number, time: number, detail: string): LogLine[] => [
    error(rank, time, 'Traceback (most recent call last):'),
    error(rank, time, '  File "train.ipynb[2]", line 3, in <module>'),
    error(rank, time, 'RuntimeError: Error(s) in loading state_dict for Net:'),
    error(rank, time, `\tsize mismatch for fc.weight: ${detail}`)
  ];
  const texts = (lines: LogLine[]): [string, string][] =>
    rowsOf(lines, true, new Set()).map(row => [row.text, row.ranks]);
  const apart = texts([...failure(0, 1, 'A'), ...failure(1, 1.2, 'B')]);
  expect(apart.map(([text]) => text).join('|')).toMatch(/A.*Traceback.*B/);
  const same = texts([...failure(0, 1, 'A'), ...failure(1, 1.2, 'A')]);
  expect(same.every(([, ranks]) => ranks === '0–1')).toBe(true);
});

it('keeps keys of rows where earlier lines have gone', () => {
  const lines = Array.from({ length: 5 }, (_, i) => line(0, `${i}`, i));
  const keys = rowsOf(lines, true).map(r => r.key);
  expect(rowsOf(lines.slice(2), true, new Set(), 2).map(r => r.key)).toEqual(
    keys.slice(2)
  );
  const part = extended({ lines: [], from: 0 }, lines);
  const full = extended(
    part,
    Array.from({ length: 20_000 }, () => line(1, 'more', 9))
  );
  expect([full.lines.length, full.from]).toEqual([20_000, 5]);
});
