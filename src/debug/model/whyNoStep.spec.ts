import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { RankView } from './model';
import { whyFocusStays, whyNoStep } from './whyNoStep';

const trans = nullTranslator.load('x');
const view = (...phases: RankView['phase'][]) => ({
  ranks: phases.map((phase, rank) => ({ rank, phase }) as RankView)
});

it('names the only rank, and a range where there are more', () => {
  const why = (written: string, count: number): string =>
    whyNoStep(
      view(...Array<'paused'>(count).fill('paused')),
      written,
      [],
      trans
    );
  const only = 'A step moves no rank: write 0, the only rank.';
  expect([why('', 1), why('1', 1)]).toEqual([only, only]);
  expect(why('4', 2)).toContain('write ranks from 0 to 1, such as 0-1.');
  expect(whyNoStep(view('paused'), '0', [0], trans)).toBe('');
});

it('is silent while no rank is paused', () => {
  expect(whyNoStep(view('idle', 'idle'), '1', [1], trans)).toBe('');
});

it('names the ranks that are paused where the chosen one is not', () => {
  const why = 'A step moves no rank: rank 0 is not paused.';
  const idle = view('idle', 'paused', 'paused');
  expect(whyNoStep(idle, '0', [0], trans)).toBe(`${why} Ranks 1–2 are paused.`);
  const stays = (...phases: RankView['phase'][]): string =>
    whyFocusStays({ ...view(...phases), focus: 0 }, trans);
  expect(stays('idle', 'paused')).toBe(`${why} Rank 1 is paused.`);
  // while it takes its step, nothing is said
  expect(stays('running', 'paused')).toBe('');
  expect(stays('paused', 'idle')).toBe('');
  expect(stays('idle', 'idle')).toBe('');
});
