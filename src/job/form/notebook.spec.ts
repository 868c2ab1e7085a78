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

it('tells that its file is saved, and that the file or its folder is deleted', async () => {
  const fileChanged = new Signal<object, object>({});
  const path = 'a/b.ipynb';
  const panel = {
    context: { path, ready: Promise.resolve() }
  };
  const notebook = await openedNotebook(path, {
    tracker: { find: () => panel } as unknown as INotebookTracker,
    contents: { fileChanged } as unknown as Contents.IManager,
    open: vi.fn(),
    restored: Promise.resolve(),
    opened: vi.fn()
  });
  const told = vi.fn();
  const end = notebook.onSaved(told);
  const happens = (type: string, at: string): void =>
    fileChanged.emit(
      type === 'save'
        ? { type, oldValue: null, newValue: { path: at } }
        : { type, oldValue: { path: at }, newValue: null }
    );
  happens('save', path);
  happens('delete', path);
  happens('delete', 'a');
  expect(told).toHaveBeenCalledTimes(3);
  happens('delete', 'a/b');
  happens('delete', 'a/c.ipynb');
  expect(told).toHaveBeenCalledTimes(3);
  end();
  happens('delete', path);
  expect(told).toHaveBeenCalledTimes(3);
});
