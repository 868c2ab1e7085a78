import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { RankView } from './model';
import { whyNoStep } from './whyNoStep';

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
