// alone: fake timers
import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { afterEach, expect, it, vi } from 'vitest';

import { DebugModel, DebugView } from './model';
import { untilOn, untilPaused } from './waitForRanks';

const trans = nullTranslator.load('x');

function fake(): { model: DebugModel; say: (view: object | null) => void } {
  const changed = new Signal<object, void>({});
  const model = { view: null as DebugView | null, changed };
  const say = (view: object | null): void => {
    model.view = view as DebugView | null;
    changed.emit();
  };
  return { model: model as unknown as DebugModel, say };
}

const view = (...phases: string[]): object => ({
  on: true,
  code: 'ready',
  ranks: phases.map((phase, rank) => ({ rank, phase }))
});

afterEach(() => {
  vi.useRealTimers();
});

it('waits for the first rank that stands where the cell failed', async () => {
  const { model, say } = fake();
  say(view('idle', 'idle'));
  let stood = false;
  const stands = untilPaused(model, trans).then(() => (stood = true));
  say(view('running', 'running'));
  await Promise.resolve();
  expect(stood).toBe(false);
  say(view('running', 'paused'));
  await stands;
});

it('says why no rank will stand', async () => {
  for (const [told, why] of [
    [{ on: false, code: 'off', ranks: [] }, 'The debugger is off.'],
    [{ on: true, code: 'ended', ranks: [] }, 'The cluster has ended.']
  ] as const) {
    const { model, say } = fake();
    say(view('running'));
    const stands = untilPaused(model, trans);
    say(told);
    await expect(stands).rejects.toThrow(why);
  }
});

it('says that nothing came of it, and how the debugger did not start', async () => {
  vi.useFakeTimers();
  const { model, say } = fake();
  const on = expect(untilOn(model, trans)).rejects.toThrow(
    'The debugger did not start.'
  );
  vi.advanceTimersByTime(30_000);
  await on;
  say(view('running'));
  const stands = expect(untilPaused(model, trans)).rejects.toThrow(
    'No rank has stopped where the cell failed.'
  );
  vi.advanceTimersByTime(30_000);
  await stands;
  await untilOn(model, trans);
});
