import { PageConfig } from '@jupyterlab/coreutils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ServerConnection, Session } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import { afterEach, expect, it, vi } from 'vitest';

import { KernelRecords } from '../locations/kernelRecords';
import { request } from '../request/rest';
import { makeCluster } from '../testing/clusters';
import { Cluster, ILiveState, ISite } from '../tokens';
import { followKernels } from './followKernels';

vi.mock('../request/rest', async original => ({
  ...(await original<object>()),
  request: vi.fn(async () => ({
    notebook: '/home/u/work/runs.ipynb',
    cluster: 'c'
  }))
}));

afterEach(() => vi.mocked(request).mockClear());

it('asks the kernel of a notebook that is not open for its name before it was renamed', async () => {
  PageConfig.setOption('dtrainRoot', '/home/u/work');
  const clusters = [makeCluster({ notebooks: ['/home/u/work/runs.ipynb'] })];
  const model = { clusters, changed: new Signal<object, void>({}) };
  const records = new KernelRecords();
  const session = { type: 'notebook', path: 'runs.ipynb', kernel: { id: 'k' } };
  const sessions = {
    running: () => [session][Symbol.iterator](),
    runningChanged: new Signal<object, Session.IModel[]>({})
  };
  followKernels(
    model as unknown as ILiveState,
    { facts: { may_write: true }, changed: new Signal({}) } as unknown as ISite,
    {
      widgetAdded: new Signal({}),
      forEach: () => undefined
    } as unknown as INotebookTracker,
    records,
    sessions as unknown as Session.IManager,
    {} as ServerConnection.ISettings
  );
  model.changed.emit();
  sessions.runningChanged.emit([]);
  expect(request).not.toHaveBeenCalled();
  expect(records.notebookName('/home/u/work/runs.ipynb')).toBe('runs.ipynb');

  session.path = 'renamed.ipynb';
  sessions.runningChanged.emit([]);
  await vi.waitFor(() =>
    expect(records.notebookName('/home/u/work/runs.ipynb')).toBe(
      'renamed.ipynb'
    )
  );
  expect(request).toHaveBeenCalledExactlyOnceWith(
    {},
    'POST',
    '/kernels/{identity}',
    { id: 'k' }
  );
});

it('reads what an open kernel has recorded again once a cell of its notebook runs', async () => {
  const notebooks = ['/home/u/work/runs.ipynb'];
  const model = {
    clusters: [makeCluster({ notebooks })],
    changed: new Signal<object, void>({})
  };
  const panel = {
    context: { path: 'runs.ipynb' },
    sessionContext: { session: { kernel: { id: 'k' } } },
    isDisposed: false
  };
  const session = { type: 'notebook', path: 'runs.ipynb', kernel: { id: 'k' } };
  followKernels(
    model as unknown as ILiveState,
    { facts: { may_write: true }, changed: new Signal({}) } as unknown as ISite,
    {
      widgetAdded: new Signal({}),
      forEach: (each: (one: object) => void) => each(panel)
    } as unknown as INotebookTracker,
    new KernelRecords(),
    {
      running: () => [session][Symbol.iterator](),
      runningChanged: new Signal<object, Session.IModel[]>({})
    } as unknown as Session.IManager,
    {} as ServerConnection.ISettings
  );
  // the cluster is there before the kernel has recorded that it uses it
  model.changed.emit();
  model.changed.emit();
  expect(request).toHaveBeenCalledTimes(1);
  const running = [{ notebook: notebooks[0] }] as Cluster['running'];
  model.clusters = [makeCluster({ notebooks, running })];
  model.changed.emit();
  expect(request).toHaveBeenCalledTimes(2);
});
