import { expect, it, vi } from 'vitest';

import { endTimersWith } from './timers';

it('ends timers when the window is closed', async () => {
  const closed = vi.fn();
  const page = { close: closed };
  const clock = { setTimeout };
  endTimersWith(page, clock);
  endTimersWith(page, clock); // by the next spec of the document
  const fired = vi.fn();
  clock.setTimeout(fired, 5);
  page.close();
  expect(closed).toHaveBeenCalledOnce();
  expect(clock).toEqual({ setTimeout });
  await new Promise(resolve => setTimeout(resolve, 20));
  expect(fired).not.toHaveBeenCalled();
});

it('lets a timer fire while the window is open', async () => {
  const page = { close: () => undefined };
  const clock = { setTimeout };
  endTimersWith(page, clock);
  await new Promise(resolve => clock.setTimeout(resolve, 1));
  page.close();
});
