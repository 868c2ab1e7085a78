// alone: fake timers
import { INotebookTracker } from '@jupyterlab/notebook';
import { Contents, Kernel } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import { afterEach, expect, it, vi } from 'vitest';

import { openedNotebook } from './notebook';

afterEach(() => void vi.useRealTimers());

it('says when a kernel that was too busy to be asked is idle', async () => {
  vi.useFakeTimers();
  const kernel = { status: 'busy' } as unknown as Kernel.IKernelConnection;
  const statusChanged = new Signal<Kernel.IKernelConnection, Kernel.Status>(
    kernel
  );
  Object.assign(kernel, { statusChanged });
  const panel = {
    context: { path: 'a.ipynb', ready: Promise.resolve() },
    sessionContext: { session: { kernel } }
  };
  const notebook = await openedNotebook('a.ipynb', {
    tracker: {
      find: (of: (p: unknown) => boolean) => (of(panel) ? panel : undefined)
    } as unknown as INotebookTracker,
    contents: {} as Contents.IManager,
    open: vi.fn(),
    restored: Promise.resolve(),
    opened: vi.fn()
  });
  const idle = vi.fn();
  const end = notebook.onIdle(idle);
  statusChanged.emit('idle');
  expect(idle).not.toHaveBeenCalled(); // nobody has asked for names

  const names = notebook.names();
  await vi.runAllTimersAsync();
  expect(await names).toBeNull();
  statusChanged.emit('busy');
  expect(idle).not.toHaveBeenCalled();
  statusChanged.emit('idle');
  statusChanged.emit('idle');
  expect(idle).toHaveBeenCalledTimes(1);

  const again = notebook.names();
  await vi.runAllTimersAsync();
  await again;
  end();
  statusChanged.emit('idle');
  expect(idle).toHaveBeenCalledTimes(1);
});
