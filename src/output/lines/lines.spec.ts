import { expect, it } from 'vitest';

import { linesOf, parseBar, parseLines, parseRanks } from './lines';

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

it('gives one rank its own lines and what belongs to all', () => {
  const lines = parseLines('[0-1] both\n[1] one\nplain\n', false);
  expect(linesOf(lines, 0).map(l => l.text)).toEqual(['both', 'plain']);
});

it('reads a progress bar, with its name', () => {
  expect(parseBar(' 64%|######    | 160/250 [00:01<00:02, 57it/s]')).toEqual({
    label: '',
    share: 0.64,
    count: '160/250',
    rest: '00:01<00:02, 57it/s'
  });
  expect(parseBar('epoch 1:  58%|###   | 145/250 [00:01')).toEqual({
    label: 'epoch 1',
    share: 0.58,
    count: '145/250',
    rest: '00:01'
  });
  expect(parseBar('epoch 3')).toBeNull();
});
