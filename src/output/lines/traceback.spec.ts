import { expect, it } from 'vitest';

import { nullTranslator } from '@jupyterlab/translation';

import { tracebackText } from '../text/tracebackText';
import {
  hintIn,
  importedPath,
  parseTracebacks,
  tracebacksOf
} from './traceback';

const ROWS = [
  '',
  'Rank 2: ValueError: max() arg is an empty sequence',
  '  cell [12], line 5',
  '      3 rows = load_shard(dist.get_rank())',
  '      4',
  '----> 5 mean = normalize(rows)',
  '  … 2 library frames',
  '  /home/u/prep.py:31, in normalize',
  '     30     lengths = []',
  '---> 31     pad = max(lengths)',
  '',
  'Ranks 3, 5–6: KeyError: a',
  'more of the message',
  '  cell [12], line 4',
  '----> 4 x'
];

it('reads tracebacks as the kernel writes them', () => {
  const [first, second, ...more] = parseTracebacks(ROWS);
  expect(more).toEqual([]);
  expect(first).toMatchObject({
    ranks: [2],
    what: 'ValueError: max() arg is an empty sequence',
    frames: [
      { cell: '[12]', file: null, line: 5, inside: '' },
      { folded: 2 },
      {
        cell: null,
        file: '/home/u/prep.py',
        line: 31,
        inside: ', in normalize'
      }
    ]
  });
  const lines = first.frames.flatMap(f => ('folded' in f ? [] : f.lines));
  expect(lines).toHaveLength(5);
  expect(lines.filter(l => l.here).map(l => l.text)).toEqual([
    '----> 5 mean = normalize(rows)',
    '---> 31     pad = max(lengths)'
  ]);
  expect(second.ranks).toEqual([3, 5, 6]);
  expect(second.more).toEqual(['more of the message']);
});

it('takes the hint below all tracebacks for no part of the last one', () => {
  const rows = [
    '',
    "Ranks 0–1: NameError: name 'width' is not defined",
    '  cell [3], line 2',
    '----> 2 width',
    '',
    "Hint: width is a variable of the notebook's kernel."
  ];
  expect(hintIn(rows)).toBe("width is a variable of the notebook's kernel.");
  expect(parseTracebacks(rows).map(({ detail }) => detail)).toEqual([[]]);
  expect(hintIn(ROWS)).toBeNull();
  const noted = [...rows.slice(0, 4), 'Hint: of a note', 'more of the note'];
  expect(hintIn(noted)).toBeNull();
  expect(parseTracebacks(noted)[0].detail).toEqual(noted.slice(4));
});

it('shows what a cluster knows of a failure, whatever the words of its text', () => {
  const frame = {
    cell: '[12]',
    file: 'cell [12]',
    line: 5,
    function: '<module>',
    source: 'mean = normalize(rows)',
    before: ['rows = load_shard(dist.get_rank())', ''],
    run: 'x.1',
    library: false,
    repeated: 0,
    left: 0
  };
  const inside = { ...frame, cell: null, before: [], file: '/lib/torch/nn.py' };
  const library = { ...inside, library: true, function: 'forward' };
  const raised = {
    rank: 2,
    kind: 'raised',
    type: 'ValueError',
    message: 'max() arg is\nmore of it',
    frames: [frame, library, library, { ...library, line: 9 }],
    operation: null,
    detail: ['caused by KeyError: a']
  };
  const [first, ...others] = tracebacksOf([
    { ...raised, rank: 0, kind: 'interrupted' },
    raised,
    { ...raised, rank: 3 }
  ]);
  expect(others).toEqual([]);
  expect(first.ranks).toEqual([2, 3]);
  expect(first.what).toBe('ValueError: max() arg is');
  expect(first.more).toEqual(['more of it']);
  expect(first.detail).toEqual(['caused by KeyError: a']);
  expect(first.all).toHaveLength(4);
  // the last one is where it was raised, and stays
  expect(first.frames.map(f => ('folded' in f ? f.folded : f.line))).toEqual([
    5, 2, 9
  ]);
  expect(first.all?.[0]).toEqual({
    cell: '[12]',
    file: null,
    line: 5,
    inside: '',
    lines: [
      { text: '      3 rows = load_shard(dist.get_rank())', here: false },
      { text: '      4 ', here: false },
      { text: '----> 5 mean = normalize(rows)', here: true }
    ]
  });
});

it('gives an error as plain text, in the order of its frames', () => {
  const [first] = parseTracebacks(ROWS);
  const text = tracebackText(
    { ...first, what: '\u001b[31mValueError\u001b[0m: x' },
    nullTranslator.load('')
  );
  expect(text.split('\n').slice(0, 2)).toEqual([
    'Rank 2 failed: ValueError: x',
    'cell [12], line 5'
  ]);
  expect(text).toMatch(/… 2 library frames\n\/home\/u\/prep.py:31, in normal/);
});

it('keeps what stands below the frames of a text', () => {
  const [, second] = parseTracebacks([...ROWS, 'caused by OSError: disk']);
  expect(second.detail).toEqual(['caused by OSError: disk']);
});

it("names a library's file as it is imported", () => {
  const conv = 'torch/nn/modules/conv.py';
  expect(importedPath(`/v/lib/python3.12/site-packages/${conv}`)).toBe(conv);
  expect(importedPath(`/usr/lib/python3/dist-packages/${conv}`)).toBe(conv);
  expect(importedPath('/usr/lib/python3.12/json/decoder.py')).toBe(
    'json/decoder.py'
  );
  expect(importedPath('/home/u/work/prep.py')).toBe('/home/u/work/prep.py');
});

it('says how many frames are left out, from the record and from the text that the notebook keeps', () => {
  const rows = [
    'Rank 0: RecursionError: maximum recursion depth exceeded',
    '  cell [3], line 3',
    '----> 3 rec(0)',
    '  cell [3], line 2, in rec',
    '----> 2 def rec(n): return rec(n+1)',
    '  … the frame above repeated 967 more times',
    '  … 930 frames left out'
  ];
  const left = [
    { folded: 967, why: 'repeated' },
    { folded: 930, why: 'left' }
  ];
  const [read] = parseTracebacks(rows);
  expect(read.frames.slice(2)).toEqual(left);
  const frame = {
    ...{ before: [], cell: '[3]', file: 'cell [3]', run: '', library: false },
    ...{ function: 'rec', line: 2, source: 'def rec(n): return rec(n+1)' },
    ...{ repeated: 967, left: 930 }
  };
  const [known] = tracebacksOf([
    {
      ...{ rank: 0, kind: 'raised', type: 'RecursionError', message: '' },
      ...{ frames: [frame], detail: [], operation: null }
    }
  ]);
  expect(known.frames.slice(1)).toEqual(left);
  const text = tracebackText(known, nullTranslator.load(''));
  expect(text).toContain('… the frame above repeated 967 more times\n');
  expect(text).toContain('… 930 frames left out');
  // a library's, folded with its neighbours
  const library = { ...frame, library: true, repeated: 6, left: 0 };
  const [inside] = tracebacksOf([
    {
      ...{ rank: 0, kind: 'raised', type: 'E', message: '' },
      ...{ frames: [library, library, frame], detail: [], operation: null }
    }
  ]);
  expect(inside.frames[0]).toEqual({ folded: 14 });
});
