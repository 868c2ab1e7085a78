import { expect, it } from 'vitest';

import { onRestart } from './kernelRestarts';

it('hears of a restart once, and whether the kernel has died', async () => {
  const heard: boolean[] = [];
  const listen = onRestart(died => heard.push(died));
  // as JupyterLab's: the session reports the restart that it asks of the kernel, and the kernel reports it, too
  listen(null, 'restarting');
  listen(null, 'restarting');
  await Promise.resolve();
  listen(null, 'starting');
  listen(null, 'idle');
  expect(heard).toEqual([false]);

  queueMicrotask(() => listen(null, 'autorestarting'));
  listen(null, 'restarting');
  await Promise.resolve();
  await Promise.resolve();
  listen(null, 'idle');
  expect(heard).toEqual([false, true]);

  listen(null, 'restarting');
  await Promise.resolve();
  expect(heard).toEqual([false, true, false]);
});
