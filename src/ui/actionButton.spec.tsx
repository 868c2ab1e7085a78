import React from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { Action } from './actionButton';

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

it('acts again after a handler that has failed', async () => {
  const host = document.createElement('div');
  document.body.append(host);
  const root = createRoot(host);
  const failures: string[] = [];
  const heard = (event: PromiseRejectionEvent | Error): void => {
    failures.push(String((event as Error).message));
  };
  process.on('unhandledRejection', heard);
  const fails = vi.fn(() => {
    throw new Error('no');
  });
  root.render(<Action label="Start" onClick={fails} />);
  await vi.waitFor(() => expect(host.querySelector('button')).not.toBeNull());
  const button = host.querySelector('button')!;
  button.click();
  await vi.waitFor(() => expect(failures).toEqual(['no']));
  button.click();
  await vi.waitFor(() => expect(fails).toHaveBeenCalledTimes(2));
  await vi.waitFor(() => expect(failures).toEqual(['no', 'no']));
  process.off('unhandledRejection', heard);
  root.unmount();
  host.remove();
});
