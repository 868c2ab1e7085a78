import { expect, it } from 'vitest';

import { contentsPath, parseTracebacks, shortSentence } from './traceback';

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
  'Ranks 3 and 5-6: KeyError: a',
  'more of the message',
  '  cell [12], line 4',
  '----> 4 x'
];

it('reads tracebacks as the kernel writes them', () => {
  const [first, second, ...more] = parseTracebacks(ROWS);
  expect(more).toEqual([]);
  expect(first).toMatchObject({
    who: 'Rank 2',
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

it('says in the bar who failed, and what became of the others', () => {
  expect(
    shortSentence(
      'Rank 2 failed: ValueError: max() is. Ranks 0 and 3 were interrupted in broadcast; variables are kept.'
    )
  ).toEqual([
    'Rank 2 failed.',
    'Ranks 0 and 3 were interrupted in broadcast; variables are kept.'
  ]);
  expect(shortSentence('Ranks 0-1 failed: x.')).toEqual([
    'Ranks 0–1 failed.',
    ''
  ]);
  const lost = 'Rank 1 was lost: killed by signal 9 (SIGKILL).';
  expect(shortSentence(lost)).toEqual([lost, '']);
});

it('finds a file below the server’s root', () => {
  expect(contentsPath('/home/u/work/a/prep.py', '/home/u/work')).toBe(
    'a/prep.py'
  );
  expect(contentsPath('/home/u/work/prep.py', '~/work')).toBe('prep.py');
  expect(contentsPath('/home/u/workshop/prep.py', '/home/u/work')).toBeNull();
  expect(contentsPath('/opt/x.py', '~/work')).toBeNull();
});
