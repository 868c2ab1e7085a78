import { expect, it } from 'vitest';

import { linesOf, parseBar, parseLines, parseRanks, splitBar } from './lines';

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

it('keeps a bar a bar where text was printed behind it', () => {
  const bar = 'epoch 1:  40%|####      | 4/10 [00:01<00:02, 3.20it/s]';
  expect(splitBar(`${bar}loss 0.5`)).toEqual([bar, 'loss 0.5']);
  expect(parseLines(`[0-1] ${bar}loss [0.5]\n`, true)).toEqual([
    { ranks: [0, 1], text: bar, error: true },
    { ranks: [0, 1], text: 'loss [0.5]', error: true }
  ]);
  // brackets of what tqdm itself writes belong to the bar
  const told = bar.replace(']', ', lr=[0.1, 0.2]]');
  expect(parseBar(told)?.rest).toBe('00:01<00:02, 3.20it/s, lr=[0.1, 0.2]');
  expect(splitBar(told)).toBeNull();
  expect(splitBar(`${told} saved`)).toEqual([told, ' saved']);
  // no text, no bar, or nobody's
  for (const text of [bar, `${bar}  `, bar.slice(0, -9), '50%|a| [b] c']) {
    expect(splitBar(text)).toBeNull();
  }
  expect(parseBar('50%|a| [b] c')).toBeNull();
});
