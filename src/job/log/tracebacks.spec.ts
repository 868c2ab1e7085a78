import { describe, expect, it } from 'vitest';

import { LogLine } from '../../tokens';
import { followingLines, followsFrom } from './causedErrors';
import { goesOn, rowsOf } from './lines';
import { blocksIn, placeOf } from './tracebacks';

const line = (rank: number, text: string, time = 0): LogLine => ({
  time,
  rank,
  text,
  error: false
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

describe('exception groups', () => {
  const GROUP = [
    '  + Exception Group Traceback (most recent call last):',
    '  |   File "job.ipynb[3]", line 4, in <module>',
    '  |     raise ExceptionGroup("two loaders failed", errors)',
    '  | ExceptionGroup: two loaders failed (2 sub-exceptions)',
    '  +-+---------------- 1 ----------------',
    '    | Traceback (most recent call last):',
    '    |   File "job.ipynb[2]", line 7, in load',
    '    | ValueError: no data',
    '    +---------------- 2 ----------------',
    '    | ExceptionGroup: inner (1 sub-exception)',
    '    +-+---------------- 1 ----------------',
    '      | KeyError: 3',
    '      +------------------------------------'
  ];
  const of = (rank: number, time: number, texts: string[]): LogLine[] =>
    texts.map(text => ({ ...line(rank, text, time), error: true }));
  const seen = (lines: LogLine[]): [string, string][] =>
    rowsOf(lines, true).map(row => [row.ranks, row.text]);

  it('of two ranks are one, with what led to them', () => {
    const one = of(1, 0, GROUP);
    const two = of(0, 3, GROUP);
    const turns = one.flatMap((first, at) => [first, two[at]]);
    const merged = GROUP.map(text => ['0–1', text]);
    expect(seen([...one, ...two])).toEqual(merged);
    expect(seen(turns)).toEqual(merged);
    const chain = [
      'Traceback (most recent call last):',
      'OSError: no disk',
      '',
      'During handling of the above exception, another exception occurred:',
      '',
      ...GROUP
    ];
    expect(seen([...of(1, 0, chain), ...of(0, 3, chain)])).toEqual(
      chain.map(text => ['0–1', text])
    );
    const other = GROUP.map(text => text.replace('no data', 'data ended'));
    expect(seen([...one, ...of(0, 3, other)])).toHaveLength(2 * GROUP.length);
  });

  it('end with their frame: what is said next is no error', () => {
    const rows = rowsOf(of(0, 0, [...GROUP, 'saved']), true);
    expect(rows.filter(row => !row.failed).map(row => row.text)).toEqual([
      'saved'
    ]);
    expect(rows.map((row, i) => goesOn(rows[i - 1], row)).slice(0, -1)).toEqual(
      GROUP.map((_, i) => i > 0)
    );
    const both = [...GROUP.slice(0, 8), 'a thread', ...GROUP.slice(8), 'saved'];
    expect(
      blocksIn(of(0, 0, both)).map(({ numbers }) => numbers.map(n => both[n]))
    ).toEqual([GROUP]);
  });

  it('follow from another rank if all their errors do', () => {
    const cause = { rank: 0, time: 0, killed: false };
    const closed = 'RuntimeError: Connection closed by peer [::1]:3';
    const all = GROUP.map(text =>
      text.replace(/ValueError.*|KeyError.*/, closed)
    );
    const some = GROUP.map(text => text.replace(/KeyError.*/, closed));
    expect(followingLines(of(1, 1, all), cause).size).toBe(GROUP.length);
    expect(followingLines(of(1, 1, some), cause).size).toBe(0);
  });
});
