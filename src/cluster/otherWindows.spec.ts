// alone: fake timers
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { Channel, OtherWindows } from './otherWindows';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Windows of one browser, by the notebooks that they have open, and the names of those that tell. */
function browser(open: Record<string, readonly string[]>): {
  tell: (notebooks: readonly string[]) => string[];
} {
  const channels: Channel[] = [];
  const windows = Object.entries(open).map(([name, notebooks]) => {
    const channel: Channel = {
      onmessage: null,
      close: () => undefined,
      postMessage: data =>
        channels
          .filter(other => other !== channel)
          .forEach(other =>
            other.onmessage?.call(
              other as BroadcastChannel,
              { data } as MessageEvent
            )
          )
    };
    channels.push(channel);
    const has = (notebook: string): boolean => notebooks.includes(notebook);
    return { name, window: new OtherWindows(channel, has) };
  });
  return {
    tell: notebooks => {
      const told: string[] = [];
      windows.forEach(({ name, window }) =>
        window.tell(notebooks, () => told.push(name))
      );
      vi.runAllTimers();
      return told;
    }
  };
}

it('tells only in the window that has the notebook', () => {
  const { tell } = browser({ one: ['a', 'c'], two: ['b'], three: [] });
  expect(tell(['a'])).toEqual(['one']);
  expect(tell(['b'])).toEqual(['two']);
  expect(tell(['x', 'b'])).toEqual(['two']);
});

it('tells where no window has the notebook, or where there is none', () => {
  const { tell } = browser({ one: ['a'], two: ['b'] });
  expect(tell(['x'])).toEqual(['one', 'two']);
  expect(tell([])).toEqual(['one', 'two']);
});

it('tells without other windows, and nothing after its end', () => {
  const alone = new OtherWindows(null, () => false);
  const tell = vi.fn();
  alone.tell(['a'], tell);
  expect(tell).toHaveBeenCalledOnce();
  const channel = { postMessage: vi.fn(), onmessage: null, close: vi.fn() };
  const ended = new OtherWindows(channel, () => false);
  ended.tell(['a'], tell);
  ended.dispose();
  vi.runAllTimers();
  expect(tell).toHaveBeenCalledOnce();
  expect(channel.close).toHaveBeenCalledOnce();
});
