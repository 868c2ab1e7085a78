import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { Sweep, Trial } from '../../tokens';
import { formatValue } from '../../metrics/format';
import { bestSoFar, goodness, scaleOf, scaleOfValues } from './scale';
import { bestFirst, uncountedText } from '../model/texts';

const trial = (number: number, more: Partial<Trial>): Trial =>
  ({
    number,
    state: 'succeeded',
    parameters: {},
    value: null,
    ended_at: number,
    ...more
  }) as Trial;
const sweep = (direction: Sweep['direction'], trials: Trial[]): Sweep =>
  ({ direction, trials, space: {}, objective: 'loss' }) as unknown as Sweep;
const TRIALS = [
  trial(0, { value: 3 }),
  trial(1, { value: 1 }),
  trial(2, { value: 2 }),
  trial(3, { state: 'pruned', value: 0.5 }),
  trial(4, { state: 'running', ended_at: null })
];

it('has two ticks or more, which tell the scale', () => {
  for (let low = 0.3; low < 0.9; low += 0.013) {
    for (const span of [0.02, 0.09, 0.11, 0.4, 3]) {
      const { ticks } = scaleOfValues([low, low + span]);
      expect(ticks.length).toBeGreaterThan(1);
      expect(ticks.length).toBeLessThan(6);
    }
  }
});

it('says that trials which did not finish do not count, where they are ahead of the best', () => {
  const trans = nullTranslator.load('');
  const text = (best: number, direction: Sweep['direction'] = 'minimize') =>
    uncountedText(
      { ...sweep(direction, TRIALS), best: TRIALS[best] } as Sweep,
      trans
    );
  expect(text(1)).toBe(
    'Only trials that are done count: trial 3 was ahead when it ended.'
  );
  expect(text(0, 'maximize')).toBe('');
  const stopped = trial(5, { state: 'stopped', value: 0.2 });
  const all = [...TRIALS, trial(6, { state: 'running', value: 0.1 }), stopped];
  const more = { ...sweep('minimize', all), best: TRIALS[1] } as Sweep;
  expect(uncountedText(more, trans)).toContain('trials 3, 5 were ahead');
  expect(uncountedText({ ...more, best: null }, trans)).toBe('');
});

it('lays values of ranges and lists on an axis', () => {
  const log = scaleOf('loguniform(1e-05, 0.1)');
  expect(log.of(1e-3)).toBeCloseTo(0.5);
  expect(log.ticks.map(t => t.label)).toEqual([
    '1e-5',
    '1e-4',
    '0.001',
    '0.01',
    '0.1'
  ]);
  expect(scaleOf('randint(2, 6)').of(4)).toBe(0.5);
  const list = scaleOf([2, 4, 'x']);
  expect([2, 4, 'x', 9].map(v => list.of(v))).toEqual([0, 0.5, 1, NaN]);
  expect(scaleOf([0.2, 0.1]).of(0.1)).toBe(0);
  expect(scaleOf([7]).of(7)).toBe(0.5);
});

it('has an axis of the objective, by magnitude where the worst is far off', () => {
  expect(scaleOfValues([1, 1000]).of(Math.sqrt(1000))).toBeCloseTo(0.5);
  const flat = scaleOfValues([2, 2]).of(2);
  expect(flat).toBeGreaterThan(0);
  expect(flat).toBeLessThan(1);
  expect(scaleOfValues([]).of(0.5)).toBe(0.5);
});

it('follows the best of those that succeeded, and ranks all', () => {
  const down = sweep('minimize', TRIALS);
  expect(bestSoFar(down).map(b => b.best)).toEqual([3, 1, 1]);
  expect(bestSoFar(sweep('maximize', TRIALS)).map(b => b.best)).toEqual([
    3, 3, 3
  ]);
  expect(goodness(down).get(3)).toBe(1);
  expect(goodness(down).get(0)).toBe(0);
  expect(bestFirst(down)).toEqual([1, 2, 0, 3, 4]);
  expect(bestFirst(sweep('maximize', TRIALS))).toEqual([0, 2, 1, 3, 4]);
});

it('writes values in few digits', () => {
  expect(
    [0.21345, 1.2e-5, 1e-5, 4096, 3.2e9, 0, null, 'sgd', true].map(value =>
      formatValue(value)
    )
  ).toEqual([
    '0.2135',
    '1.2e-5',
    '1e-5',
    '4,096',
    '3.2e9',
    '0',
    '–',
    'sgd',
    'true'
  ]);
});
