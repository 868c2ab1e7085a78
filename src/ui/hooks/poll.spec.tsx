import React from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { usePoll } from './poll';

function Asking(props: { ask: () => Promise<boolean> }): JSX.Element {
  usePoll('test', 5, props.ask);
  return <></>;
}

it('goes on after failures, at once when the network is back, and ends with its last answer', async () => {
  let away = true;
  let left = 3;
  const ask = vi.fn(async () => {
    if (away) {
      throw new TypeError('Failed to fetch');
    }
    return --left > 0;
  });
  const root = createRoot(document.createElement('div'));
  root.render(<Asking ask={ask} />);
  await vi.waitFor(() => expect(ask.mock.calls.length).toBeGreaterThan(2));
  away = false;
  const before = ask.mock.calls.length;
  window.dispatchEvent(new Event('online'));
  await vi.waitFor(() => expect(ask.mock.calls.length).toBeGreaterThan(before));
  await vi.waitFor(() => expect(left).toBe(0), 5000);
  root.unmount();
});
