import React from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { Action } from './action';

it('ignores clicks until what the first one began is done', async () => {
  const host = document.createElement('div');
  document.body.append(host);
  const root = createRoot(host);
  let done: () => void = () => undefined;
  const began = vi.fn(() => new Promise<void>(resolve => (done = resolve)));
  root.render(<Action label="Start" onClick={began} />);
  await vi.waitFor(() => expect(host.querySelector('button')).not.toBeNull());
  const button = host.querySelector('button')!;
  button.click();
  button.click();
  expect(began).toHaveBeenCalledTimes(1);
  done();
  await vi.waitFor(() => {
    button.click();
    expect(began).toHaveBeenCalledTimes(2);
  });
  root.unmount();
  host.remove();
});
