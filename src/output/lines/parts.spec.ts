import { expect, it } from 'vitest';

import { ILine } from './lines';
import { blocksOf, countParts, DisplayShape, Parts } from './parts';

/** "0 a" prints a on rank 0, "0-1 a" on both, "0 #" displays a table, "0 %" a figure. */
function place(...events: string[]): string[] {
  const read = events.map(event => {
    const [ranks, text] = event.split(' ');
    return { ranks: ranks.split('-').filter(Boolean).map(Number), text };
  });
  const shapes = { '#': 'wide', '%': 'figure' } as const;
  const shapeOf = (text: string): DisplayShape | undefined =>
    shapes[text as keyof typeof shapes];
  const shown = read.filter(({ text }) => shapeOf(text));
  const parts = new Parts(new Set(shown.flatMap(({ ranks }) => ranks)));
  return read.map(({ ranks, text }) => {
    const shape = shapeOf(text);
    const part = shape ? parts.display(ranks[0], shape) : parts.text(ranks);
    return `${text}${part}`;
  });
}

it('puts what a rank prints after a display below it', () => {
  expect(place('0 a', '0 #', '0 b', '0 #', '0 #', '0 c')).toEqual([
    'a0',
    '#0',
    'b1',
    '#1',
    '#1',
    'c2'
  ]);
});

it('has the same parts for ranks that do the same, whichever is ahead', () => {
  const one = ['a0', '#0', 'b1', '#1', 'c2'];
  const events = (rank: number): string[] =>
    ['a', '#', 'b', '#', 'c'].map(text => `${rank} ${text}`);
  expect(place(...events(0), ...events(1))).toEqual([...one, ...one]);
  expect(place('0-1 a', '0 #', '0 b', '1 #', '1 b', '0-1 c')).toEqual([
    'a0',
    '#0',
    'b1',
    '#0',
    'b1',
    'c1'
  ]);
});

it('keeps ranks that display nothing with those that do', () => {
  expect(place('0-1 a', '0 #', '1 b', '0 b', '0 #', '1 c', ' d')).toEqual([
    'a0',
    '#0',
    'b1',
    'b1',
    '#1',
    'c2',
    'd2'
  ]);
  expect(place('0-1 a', '1 b')).toEqual(['a0', 'b0']);
});

it('puts a figure below the table before it, and beside the figure before it', () => {
  const epoch = (rank: number): string[] => [`${rank} #`, `${rank} %`];
  const one = ['#0', '%1', '#1', '%2', 'a3'];
  const rank0 = [...epoch(0), ...epoch(0), '0 a'];
  expect(place(...rank0)).toEqual(one);
  // each rank's tables and figures lie with those of the others
  const both = [0, 1, 0, 1].flatMap(epoch);
  expect(place(...both)).toEqual(
    ['#0', '%1', '#0', '%1', '#1', '%2', '#1', '%2'] //
  );
  expect(place('0 %', '0 %', '0 #', '0 a')).toEqual(['%0', '%0', '#0', 'a1']);
});

it('gives text between displays its place, together and by rank', () => {
  const line = (text: string, part: number): ILine => ({
    ranks: [0, 1],
    text,
    error: false,
    part
  });
  const lines = [line('a', 0), line('b', 1), line('c', 2)];
  const texts = (choice: 'together' | 'by rank' | number): string[] => {
    const blocks = blocksOf(lines, choice, [0, 1], countParts(lines, []));
    const orders = blocks.map(block => block.order);
    expect([...orders].sort((a, b) => a - b)).toEqual(orders);
    return blocks.map(({ rank, lines: own, last }) =>
      [rank ?? '', ...own.map(l => l.text), last ? '.' : ''].join('')
    );
  };
  expect(texts('together')).toEqual(['b', 'c.']);
  expect(texts(1)).toEqual(['1b', '1c.']);
  expect(texts('by rank')).toEqual(['0a', '0b', '0c.', '1a', '1b', '1c.']);
});
