import { expect, it } from 'vitest';

import { foldLines, linesOf, parseBar, parseLines, parseRanks } from './lines';

it('reads rank sets', () => {
  expect(parseRanks('0,2-4')).toEqual([0, 2, 3, 4]);
});

it('reads labelled lines, and leaves others alone', () => {
  expect(parseLines('[0-1] a\nplain\n[3] \n', false)).toEqual([
    { ranks: [0, 1], text: 'a', error: false },
    { ranks: [], text: 'plain', error: false },
    { ranks: [3], text: '', error: false }
  ]);
});

it('folds lines that differ only in numbers to the lowest rank and the range', () => {
  const lines = parseLines(
    '[1] epoch 0 loss 2.180\n[0] epoch 0 loss 2.137\n[2] epoch 0 loss 2.101\n',
    false
  );
  expect(foldLines(lines)).toEqual([
    {
      ranks: [0, 1, 2],
      text: 'epoch 0 loss 2.137',
      error: false,
      range: '2.101 to 2.180'
    }
  ]);
});

it('folds lines that other lines came between, and keeps the order of each rank', () => {
  const lines = parseLines(
    '[0] a 1\n[0] b 1\n[1] a 2\n[1] b 2\n[0] a 3\n',
    false
  );
  expect(foldLines(lines).map(l => [l.text, l.ranks.length])).toEqual([
    ['a 1', 2],
    ['b 1', 2],
    ['a 3', 1]
  ]);
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

it('never folds two lines of one rank, nor stdout with stderr', () => {
  expect(foldLines(parseLines('[0] 1\n[0] 2\n', false))).toHaveLength(2);
  const mixed = [
    ...parseLines('[0] 1\n', false),
    ...parseLines('[1] 1\n', true)
  ];
  expect(foldLines(mixed)).toHaveLength(2);
});

it('gives one rank its own lines and what belongs to all', () => {
  const lines = parseLines('[0-1] both\n[1] one\nplain\n', false);
  expect(linesOf(lines, 0).map(l => l.text)).toEqual(['both', 'plain']);
});

it('reads a progress bar', () => {
  expect(parseBar(' 64%|######    | 160/250 [00:01]')).toEqual({
    share: 0.64,
    rest: '160/250 [00:01]'
  });
  expect(parseBar('epoch 3')).toBeNull();
});
