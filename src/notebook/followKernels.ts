import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { ServerConnection, Session } from '@jupyterlab/services';

import { serverRoot } from '../locations/serverRoot';
import { isNotebook, labPath } from '../locations/location';
import { request, RequestError } from '../request/rest';
import { IKernelRecords, ILiveState, ISite, KernelUse } from '../tokens';

const KERNEL = '/kernels/{identity}';

/**
 * Read from the server what the kernels of open notebooks have recorded, and again when that may have changed:
 * kernels decide which cluster their notebooks use, and a busy kernel can't be asked. So for kernels of notebooks that
 * are not open, if a cluster names a notebook that no session has: it may have been renamed.
 *
 * @param sessions - the server's sessions, of notebooks that are open and of others
 * @returns reads a notebook's record now
 */
export function followKernels(
  model: ILiveState,
  site: ISite,
  tracker: INotebookTracker,
  records: IKernelRecords,
  sessions: Pick<Session.IManager, 'running' | 'runningChanged'>,
  settings: ServerConnection.ISettings
): (panel: NotebookPanel) => void {
  // who may write also has the server record the notebook's present path, for other notebooks' kernels
  const recorded = (kernel: string): Promise<KernelUse> =>
    request(settings, site.facts?.may_write ? 'POST' : 'GET', KERNEL, {
      id: kernel
    });
  const read = async (panel: NotebookPanel): Promise<void> => {
    const kernel = kernelOf(panel);
    if (kernel && site.facts) {
      const use = await recorded(kernel);
      if (!panel.isDisposed) {
        records.note(kernel, use);
        records.notePath(panel);
      }
    }
  };
  const readOther = async (kernel: string, path: string): Promise<void> => {
    const use = await recorded(kernel);
    if (use.notebook) {
      const former = labPath(use.notebook, serverRoot()) ?? use.notebook;
      records.noteCurrentPath(former, path);
    }
  };
  const quietly = (reading: Promise<void>): void => {
    reading.catch(error => {
      const expected =
        error instanceof ServerConnection.NetworkError ||
        error instanceof RequestError;
      // it is read again after the next change, or when the server is back; one of an earlier version has none
      if (!expected) {
        throw error;
      }
    });
  };
  const look = (panel: NotebookPanel): void => quietly(read(panel));
  const lookAtOthers = (): void => {
    const running = [...sessions.running()];
    const named = model.clusters.flatMap(cluster => [
      ...cluster.notebooks,
      ...cluster.former_notebooks
    ]);
    const root = serverRoot();
    const missing = named.some(
      notebook => !running.some(({ path }) => isNotebook(path, notebook, root))
    );
    if (!site.facts || !missing) {
      return;
    }
    const open = new Set<string | undefined>();
    tracker.forEach(panel => open.add(kernelOf(panel)));
    for (const { kernel, path, type } of running) {
      if (kernel && type === 'notebook' && !open.has(kernel.id)) {
        quietly(readOther(kernel.id, path));
      }
    }
  };
  tracker.widgetAdded.connect((_, panel) => {
    const { context, sessionContext } = panel;
    let kernel = kernelOf(panel);
    sessionContext.kernelChanged.connect(() => {
      kernel = kernelOf(panel) ?? kernel;
      look(panel);
    });
    panel.disposed.connect(() => {
      if (kernel && !tracker.find(p => p !== panel && kernelOf(p) === kernel)) {
        records.forget(kernel);
      }
    });
    sessionContext.statusChanged.connect((_, status) => {
      // of several clusters, a cell may have chosen another one; it may have started one since the last ended
      const last = records.lastCluster(panel);
      const ended = last && !model.clusters.some(({ id }) => id === last);
      if (status === 'idle' && (model.clusters.length > 1 || ended)) {
        look(panel);
      }
    });
    context.pathChanged.connect(() => records.notePath(panel));
    // the server knows the new path now, and tells other notebooks' kernels
    sessionContext.propertyChanged.connect((_, changed) => {
      if (changed === 'path') {
        look(panel);
      }
    });
    look(panel);
  });
  let before = '';
  const lookIfChanged = (): void => {
    // a kernel has recorded its cluster once it runs a cell there: it may have been read too early while that started
    const ids = model.clusters.map(({ id, notebooks, running }) => [
      id,
      notebooks,
      running.map(cell => cell.notebook)
    ]);
    const now = JSON.stringify([!!site.facts, model.link === 'lost', ids]);
    if (now !== before) {
      before = now;
      tracker.forEach(look);
      lookAtOthers();
    }
  };
  sessions.runningChanged.connect(lookAtOthers);
  model.changed.connect(lookIfChanged);
  site.changed.connect(lookIfChanged);
  return look;
}

/** Id of an open notebook's kernel; undefined without one. */
function kernelOf({ sessionContext }: NotebookPanel): string | undefined {
  return sessionContext.session?.kernel?.id;
}
