import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { Contents, Kernel } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import { afterEach, expect, it, vi } from 'vitest';

import { goTo, openedNotebook } from './notebook';

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

it('goes to the cell of an error by its id, also where cells were added above it', async () => {
  const cell = (id: string, type = 'code'): object => ({
    model: { id, type, executionCount: null },
    ready: Promise.resolve()
  });
  const content = {
    widgets: [cell('new'), cell('text', 'markdown'), cell('a'), cell('b')],
    activeCellIndex: 0,
    scrollToItem: async () => undefined,
    mode: 'command'
  };
  const panel = { content } as unknown as NotebookPanel;
  await goTo(panel, '[2]', 3, 'b');
  expect(content.activeCellIndex).toBe(3);
  await goTo(panel, '[2]', 3, 'gone');
  expect(content.activeCellIndex).toBe(2);
  await goTo(panel, '[1]', 3);
  expect(content.activeCellIndex).toBe(0);
});
