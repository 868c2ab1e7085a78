import { expect, it, vi } from 'vitest';

import { advicePlugin } from '../plugin';
import { AdviceState } from './adviceState';

it('dismisses advice on one cluster, until it is shown again', () => {
  const state = new AdviceState();
  state.dismiss('a', 'accumulate');
  expect(state.isDismissed('a', 'accumulate')).toBe(true);
  expect(state.isDismissed('b', 'accumulate')).toBe(false);
  state.dismiss('a', 'accumulate', false);
  expect(state.isDismissed('a', 'accumulate')).toBe(false);
});

it('remembers what was dismissed also beyond the most that it keeps', async () => {
  const keys = Array.from({ length: 200 }, (_, n) => `c${n}:bf16`);
  const saved: string[][] = [];
  const state = {
    fetch: async () => keys,
    save: async (_: string, now: string[]) => void saved.push(now)
  };
  const advice = (await advicePlugin.activate(
    {} as never,
    state as never
  )) as AdviceState;
  await vi.waitFor(() => expect(advice.dismissed.length).toBe(200));
  advice.dismiss('new', 'accumulate');
  expect(saved.at(-1)?.at(-1)).toBe('new:accumulate');
});
