import { expect, it } from 'vitest';

import { Sweep, Trial } from '../../tokens';
import { axesOf, moved, within } from './brush';

it('moves an end of a brush by keys, as far as the other end', () => {
  expect(moved(undefined, 1, 'ArrowDown', 0.25)).toEqual([0, 0.75]);
  expect(moved([0.5, 0.75], 0, 'ArrowUp', 0.5)).toEqual([0.75, 0.75]);
  expect(moved([0.5, 0.75], 1, 'PageDown', 0.25)).toEqual([0.5, 0.5]);
  expect(moved([0.5, 0.75], 1, 'End')).toEqual([0.5, 1]);
  expect(moved([0.5, 1], 0, 'Home')).toBeNull();
  expect(moved([0.5, 1], 0, 'Escape')).toBeNull();
  expect(moved([0.5, 1], 0, 'a')).toBeUndefined();
});

it('keeps a value of a list that an end was moved to in steps', () => {
  const trials = [1, 2, 4, 8].map(width => ({
    parameters: { width },
    value: 1
  }));
  const axes = axesOf({
    space: { width: [1, 2, 4, 8] },
    objective: 'loss',
    trials
  } as unknown as Sweep);
  const { step, text } = axes[0].scale;
  let brush = moved(undefined, 1, 'ArrowDown', step);
  brush = moved(brush ?? undefined, 1, 'ArrowDown', step);
  expect(text(brush?.[1] ?? 1)).toBe('2');
  const kept = trials.filter(t =>
    within(t as unknown as Trial, axes, { width: brush ?? [0, 1] })
  );
  expect(kept.map(t => t.parameters.width)).toEqual([1, 2]);
});
