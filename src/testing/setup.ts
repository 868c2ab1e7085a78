import { afterAll, vi } from 'vitest';

import { forgetPage } from './page';
import { type ClosingWindow, endTimersWith } from './timers';
import { lengthenWaits } from './waits';

/** What jsdom lacks and @lumino or @jupyterlab touch when they are imported. */
const target = globalThis as unknown as Record<string, unknown>;

target.DragEvent ??= class DragEvent extends MouseEvent {};
class Observer {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
target.ResizeObserver ??= Observer;
target.IntersectionObserver ??= Observer;
target.matchMedia ??= () => ({
  matches: false,
  addEventListener: () => undefined,
  removeEventListener: () => undefined
});
target.requestIdleCallback ??= (callback: () => void) => setTimeout(callback);
HTMLCanvasElement.prototype.getContext = (() =>
  null) as unknown as typeof HTMLCanvasElement.prototype.getContext;

lengthenWaits(vi);

endTimersWith((target.jsdom as { window: ClosingWindow }).window, globalThis);

// `JSON.rawJSON` for Node below 22: with it, tests use the same objects for 1.0 as browsers do
if (!('rawJSON' in JSON)) {
  const MARK = '\u0001';
  const plain = JSON.stringify.bind(JSON);
  const isRaw = (value: unknown): value is { rawJSON: string } =>
    typeof value === 'object' &&
    value !== null &&
    Object.getPrototypeOf(value) === null &&
    'rawJSON' in value;
  Object.assign(JSON, {
    rawJSON: (text: string) =>
      Object.freeze(
        Object.assign(Object.create(null) as object, { rawJSON: text })
      ),
    stringify: (value: unknown, replacer: unknown, space?: string | number) =>
      replacer
        ? plain(value, replacer as [], space)
        : plain(
            value,
            (_, part) => (isRaw(part) ? MARK + part.rawJSON + MARK : part),
            space
          )?.replace(/"\\u0001(.*?)\\u0001"/g, '$1')
  });
}

// the next spec may run in the same document
afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  document.body.replaceChildren();
  forgetPage();
});
