import { expect, it } from 'vitest';

import { overwrites, Screen } from './screen';

const UP = '\u001b[A';

it('keeps nested bars in place, with each write by itself', () => {
  const screen = new Screen();
  const print = (...texts: string[]): string[] =>
    texts.flatMap(text => screen.feed(text));
  const inner = (text: string): string[] => print('\n', `\r${text}`, UP);
  expect(print('\repochs 0%')).toEqual([]);
  for (const share of ['0%', '50%', '100%']) {
    expect(inner(`epoch 0 ${share}`)).toEqual([]);
    expect(screen.bars).toEqual(['epochs 0%', `epoch 0 ${share}`]);
  }
  // it is removed, and the outer bar goes on
  expect(print('\n', '\r', '          ', '\r', UP)).toEqual([]);
  expect(screen.bars).toEqual(['epochs 0%']);
  expect(print('\repochs 100%', '\n')).toEqual([]);
  expect(screen.settle()).toEqual(['epochs 100%']);
  expect(screen.isPlain).toBe(true);
});

it('ends a bar at its line feed if the cursor does not return', () => {
  const screen = new Screen();
  expect(screen.feed('\rone 0%')).toEqual([]);
  expect(screen.feed('\rone 99%\n\rtwo 0%')).toEqual([]);
  expect(screen.feed('\rtwo 99%')).toEqual(['one 99%']);
  expect(screen.feed('\nwarning\nopen')).toEqual(['two 99%', 'warning']);
  expect([screen.isPlain, screen.rest]).toEqual([true, 'open']);
});

it('keeps a bar in the second place where nothing is in the first', () => {
  const screen = new Screen();
  for (const share of ['10%', '20%', '30%']) {
    expect(
      ['\n', `\r${share}`, '\u001b[', 'A'].flatMap(t => screen.feed(t))
    ).toEqual([]);
    expect(screen.bars).toEqual([share]);
  }
});

it('knows text that overwrites', () => {
  expect(['a\rb', `a${UP}`, '\u001b[2A'].every(overwrites)).toBe(true);
  expect(['a\n', '\u001b[31mred\u001b[0m'].some(overwrites)).toBe(false);
});
