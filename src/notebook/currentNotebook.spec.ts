import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { ServiceManager } from '@jupyterlab/services';
import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { beforeEach, expect, it, vi } from 'vitest';

import { IKernelRecords, ILiveState, ISelection, ISite } from '../tokens';
import { followCurrentNotebook } from './currentNotebook';
import { loadAgain, loadMagics } from './magics';

vi.mock('./magics', () => ({
  loadAgain: vi.fn(async () => undefined),
  loadMagics: vi.fn(async () => null as string | null)
}));
// it has listeners of its own
vi.mock('./followKernels', () => ({ followKernels: () => () => undefined }));

const SPEC = { language: 'python' };

/** A signal that knows its listeners. */
class Counted<U> extends Signal<object, U> {
  listeners = 0;

  override connect(...slot: Parameters<Signal<object, U>['connect']>): boolean {
    const isNew = super.connect(...slot);
    this.listeners += isNew ? 1 : 0;
    return isNew;
  }

  override disconnect(
    ...slot: Parameters<Signal<object, U>['disconnect']>
  ): boolean {
    const was = super.disconnect(...slot);
    this.listeners -= was ? 1 : 0;
    return was;
  }
}

/** A connection to a kernel, as far as it is used. */
class Connection {
  readonly name = 'python3';
  readonly statusChanged = new Counted<string>(this);
  readonly disposed = new Counted<void>(this);
  isDisposed = false;

  constructor(readonly id: string) {}

  /** As JupyterLab's: what still listens to a connection that is disposed is dropped. */
  dispose(): void {
    this.isDisposed = true;
    this.disposed.emit();
    Signal.clearData(this);
  }
}

/** An open notebook. */
class Notebook {
  readonly context: { path: string };
  readonly sessionContext: {
    session: { kernel: Connection };
    kernelChanged: Counted<void>;
    statusChanged: Counted<string>;
    propertyChanged: Counted<string>;
  };

  constructor(path: string, kernel: Connection) {
    this.context = { path };
    this.sessionContext = {
      session: { kernel },
      kernelChanged: new Counted(this),
      statusChanged: new Counted(this),
      propertyChanged: new Counted(this)
    };
  }

  /** Give it another kernel. */
  change(kernel: Connection): void {
    const { session, kernelChanged } = this.sessionContext;
    session.kernel.dispose();
    session.kernel = kernel;
    kernelChanged.emit();
  }

  /** Restart its kernel, whose connection stays. */
  async restart(): Promise<void> {
    const { session, statusChanged } = this.sessionContext;
    for (const status of ['restarting', 'idle']) {
      statusChanged.emit(status);
      session.kernel.statusChanged.emit(status);
      await Promise.resolve(); // each comes in a message of its own
    }
    statusChanged.emit('idle');
  }

  /** Number of listeners to its session. */
  get listeners(): number[] {
    const { kernelChanged, statusChanged, propertyChanged } =
      this.sessionContext;
    return [kernelChanged, statusChanged, propertyChanged].map(
      signal => signal.listeners
    );
  }
}

/** Follow the notebook in front; returns a function that brings one there, once its kernel has the magics. */
function follow(
  facts: object | null = {}
): (notebook: Notebook) => Promise<void> {
  const currentChanged = new Signal<object, NotebookPanel | null>({});
  const tracker = {
    currentWidget: null as NotebookPanel | null,
    currentChanged
  };
  followCurrentNotebook(
    { clusters: [], changed: new Signal({}) } as unknown as ILiveState,
    { facts, changed: new Signal({}) } as unknown as ISite,
    { setNotebook: () => undefined } as unknown as ISelection,
    tracker as unknown as INotebookTracker,
    {
      changed: new Signal({}),
      kernelPath: () => '',
      lastCluster: () => null
    } as unknown as IKernelRecords,
    {
      kernelspecs: { specs: { kernelspecs: { python3: SPEC } } }
    } as unknown as ServiceManager.IManager,
    nullTranslator.load('x')
  );
  return async notebook => {
    const panel = notebook as unknown as NotebookPanel;
    tracker.currentWidget = panel;
    currentChanged.emit(panel);
    await settle();
  };
}

/** Until the kernels that are asked have answered. */
async function settle(): Promise<void> {
  await Promise.allSettled(
    vi.mocked(loadMagics).mock.results.map(r => r.value)
  );
  await Promise.resolve();
}

beforeEach(() => {
  vi.clearAllMocks();
});

it('has one listener per kernel, however often its notebook comes to the front', async () => {
  const show = follow();
  const kernels = [new Connection('k1'), new Connection('k2')];
  const [first, second] = kernels.map(k => new Notebook(`${k.id}.ipynb`, k));
  for (const notebook of [first, second, first, second, first]) {
    await show(notebook);
  }
  expect(loadMagics).toHaveBeenCalledTimes(2);
  expect(kernels.map(k => k.statusChanged.listeners)).toEqual([1, 1]);
  // that is for a notebook that is closed before its kernel has answered
  expect(kernels.map(k => k.disposed.listeners)).toEqual([0, 0]);
});

it('gives a kernel the magics in the same turn, before the server has told of its site', async () => {
  const show = follow(null);
  const shown = show(new Notebook('a.ipynb', new Connection('k1')));
  expect(loadMagics).toHaveBeenCalledOnce();
  await shown;
});

it('listens to the session of the notebook in front, and no longer to the one before', async () => {
  const show = follow();
  const [first, second] = ['k1', 'k2'].map(
    id => new Notebook(`${id}.ipynb`, new Connection(id))
  );
  for (const notebook of [first, second, first, second]) {
    await show(notebook);
  }
  expect(first.listeners).toEqual([0, 0, 0]);
  expect(second.listeners).toEqual([1, 1, 1]);
});

it('gives a restarted kernel the magics once per restart', async () => {
  const show = follow();
  const kernel = new Connection('k1');
  const notebook = new Notebook('a.ipynb', kernel);
  await show(notebook);
  for (const restarts of [1, 2, 3]) {
    await notebook.restart();
    await settle();
    expect(loadAgain).toHaveBeenCalledTimes(restarts);
    expect(loadMagics).toHaveBeenCalledTimes(1 + restarts);
  }
  expect(kernel.statusChanged.listeners).toBe(1);
  expect(kernel.disposed.listeners).toBe(0);
  expect(notebook.listeners).toEqual([1, 1, 1]);
});

it('follows the new kernel of a notebook, and no longer the former one', async () => {
  const show = follow();
  const former = new Connection('k1');
  const notebook = new Notebook('a.ipynb', former);
  await show(notebook);
  const next = new Connection('k2');
  notebook.change(next);
  await settle();
  expect(vi.mocked(loadMagics).mock.calls.map(([k]) => k.id)).toEqual([
    'k1',
    'k2'
  ]);
  expect([next.statusChanged, next.disposed].map(s => s.listeners)).toEqual([
    1, 0
  ]);
  expect(notebook.listeners).toEqual([1, 1, 1]);
  former.statusChanged.emit('restarting');
  await settle();
  expect(loadAgain).not.toHaveBeenCalled();
  await notebook.restart();
  await settle();
  expect(vi.mocked(loadAgain).mock.calls.map(([k]) => k.id)).toEqual(['k2']);
});

it('asks a kernel again whose notebook was closed before it had answered, and opened again', async () => {
  const show = follow();
  let answer = (): void => undefined;
  vi.mocked(loadMagics).mockImplementationOnce(
    () =>
      new Promise((_, reject) => {
        answer = () => reject(new Error('Canceled'));
      })
  );
  const closed = new Connection('k1');
  void show(new Notebook('a.ipynb', closed));
  closed.dispose();
  answer();
  await show(new Notebook('a.ipynb', new Connection('k1')));
  expect(loadMagics).toHaveBeenCalledTimes(2);
});

/** Two notebooks with one kernel, which were both in front. */
async function shared() {
  const show = follow();
  const [one, other] = [new Connection('k1'), new Connection('k1')];
  const second = new Notebook('b.ipynb', other);
  await show(new Notebook('a.ipynb', one));
  await show(second);
  return { one, other, second };
}

it('gives a kernel of two notebooks the magics once per restart', async () => {
  const { one, second } = await shared();
  one.statusChanged.emit('restarting');
  await second.restart();
  await settle();
  expect(loadAgain).toHaveBeenCalledExactlyOnceWith(one);
});

it('gives it the magics also after the notebook that had it first is closed', async () => {
  const { one, other, second } = await shared();
  one.dispose();
  await second.restart();
  await settle();
  expect(loadAgain).toHaveBeenCalledExactlyOnceWith(other);
  expect(loadMagics).toHaveBeenLastCalledWith(other, SPEC.language);
  expect(loadMagics).toHaveBeenCalledTimes(2);
});
