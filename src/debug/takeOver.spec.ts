import { NotebookPanel } from '@jupyterlab/notebook';
import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { KernelRecords } from '../locations/kernelRecords';
import { makeCluster, makeRank } from '../testing/clusters';
import { IKernelDebugger } from './debugButton';
import { takeOver } from './takeOver';

/** a.ipynb, whose debugger was refused, beside b.ipynb, which uses the same cluster. */
function made(beside: IKernelDebugger, state = 'idle') {
  const panel = (path: string, is: IKernelDebugger): NotebookPanel => {
    const done = Promise.resolve({ content: { body: is } });
    const kernel = { id: path, requestDebug: () => ({ done }) };
    return {
      id: path,
      title: { label: path },
      context: { path },
      sessionContext: { session: { id: path, kernel } }
    } as unknown as NotebookPanel;
  };
  const own = panel('a.ipynb', { isStarted: true, holdsRanks: false });
  const panels = [own, panel('b.ipynb', beside)];
  const shown: string[] = [];
  const ranks = [makeRank(0), makeRank(1, { state: state as 'idle' })];
  const notebooks = ['a.ipynb', 'b.ipynb'];
  const model = { view: null as unknown, refresh: vi.fn() };
  const parts = {
    app: { shell: { activateById: (id: string) => shown.push(id) } },
    clusters: { clusters: [makeCluster({ ranks, notebooks })] },
    debug: { session: { connection: { id: 'a.ipynb' } } },
    model: Object.assign(model, { changed: new Signal(model) }),
    queue: { idle: async () => undefined },
    records: new KernelRecords(),
    tracker: {
      find: (is: (panel: NotebookPanel) => boolean) => panels.find(is),
      forEach: (look: (panel: NotebookPanel) => void) => panels.forEach(look)
    },
    trans: nullTranslator.load('')
  };
  model.refresh.mockImplementation(() => {
    model.view = { on: true };
  });
  const way = takeOver(parts as unknown as Parameters<typeof takeOver>[0]);
  return { way, shown, model };
}

it('goes to the notebook in which ranks are paused', async () => {
  const beside = { isStarted: true, holdsRanks: true };
  const { way, shown, model } = made(beside, 'paused');
  expect(way.paused()).toEqual([1]);
  expect(await way.holder()).toBe('b.ipynb');
  await way.execute();
  expect(shown).toEqual(['b.ipynb']);
  expect(model.refresh).not.toHaveBeenCalled();
});

it('has the kernel try again where no notebook in this window has the ranks', async () => {
  for (const isStarted of [false, true]) {
    const { way, shown, model } = made({ isStarted, holdsRanks: false });
    expect(await way.holder()).toBeNull();
    await Promise.all([way.execute(), way.execute()]);
    expect(model.refresh, 'pressed twice').toHaveBeenCalledOnce();
    expect(model.view).toEqual({ on: true });
    expect(shown).toEqual([]);
    await way.execute();
    expect(model.refresh).toHaveBeenCalledTimes(2);
  }
});
