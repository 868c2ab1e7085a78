// alone: its timers are not those of the views
import { Notification } from '@jupyterlab/apputils';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { tellBriefly, TOAST_MS } from './toast';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('leaves nothing in the list of notifications of what only answers a click', () => {
  const id = tellBriefly('a.ipynb uses demo.');
  expect(Notification.manager.has(id)).toBe(true);
  vi.advanceTimersByTime(TOAST_MS);
  // until its toast is gone
  expect(Notification.manager.has(id)).toBe(true);
  vi.advanceTimersByTime(TOAST_MS);
  expect(Notification.manager.has(id)).toBe(false);
});
