import { ISessionContext } from '@jupyterlab/apputils';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { Kernel, ServiceManager } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';

import { onRestart } from '../jupyterlab/kernelRestarts';
import { IKernelRecords, ILiveState, ISelection, ISite } from '../tokens';
import { followKernels } from './followKernels';
import { loadAgain, loadMagics } from './magics';
import { OpenConnections } from './openConnections';
import { restartNote } from './texts';
import { tellBriefly } from '../ui/text/toast';

/** Tell the selection which notebook is in front, and load the magics into its kernel. */
export function followCurrentNotebook(
  model: ILiveState,
  site: ISite,
  selection: ISelection,
  tracker: INotebookTracker,
  records: IKernelRecords,
  services: Pick<
    ServiceManager.IManager,
    'sessions' | 'serverSettings' | 'kernelspecs'
  >,
  trans: TranslationBundle
): void {
  const loaded = new Set<string>();
  /** Kernels in which the magics could not be loaded, and why. */
  const failed = new Map<string, string>();
  const connections = new OpenConnections<Kernel.IKernelConnection>();
  const kernelNow = (): Kernel.IKernelConnection | null =>
    tracker.currentWidget?.sessionContext.session?.kernel ?? null;
  const tell = (): void => {
    const kernel = kernelNow();
    const panel = tracker.currentWidget;
    const failure = (kernel && failed.get(kernel.id)) ?? null;
    selection.setNotebook({
      path: panel?.context.path ?? null,
      startedAs: panel && records.kernelPath(panel),
      lastCluster: panel && records.lastCluster(panel),
      kernel: kernel?.name ?? null,
      lacks: failure !== null,
      failure
    });
  };
  const restarted = (
    kernel: Kernel.IKernelConnection,
    panel: NotebookPanel | null,
    died: boolean
  ): void => {
    loaded.delete(kernel.id);
    if (!failed.has(kernel.id)) {
      void loadAgain(kernel);
    }
    const path = panel && records.kernelPath(panel);
    const note = restartNote(model.clusters, path, died, trans);
    if (note) {
      tellBriefly(note, 'info');
    }
  };
  const follow = (
    kernel: Kernel.IKernelConnection,
    panel: NotebookPanel | null
  ): void => {
    if (connections.add(kernel)) {
      const heard = onRestart(died => {
        // all connections hear it
        if (connections.isFirst(kernel)) {
          restarted(kernel, panel, died);
        }
      });
      kernel.statusChanged.connect(heard);
    }
  };
  const prepare = async (): Promise<void> => {
    const kernel = kernelNow();
    const panel = tracker.currentWidget;
    tell();
    // whatever the server answers of its site, and when: a cell may be run before
    if (!kernel) {
      return;
    }
    follow(kernel, panel);
    if (loaded.has(kernel.id)) {
      return;
    }
    const { id } = kernel;
    loaded.add(id);
    failed.delete(id);
    // the notebook was closed before the kernel answered: it is asked again when reopened
    const forget = (): void => void loaded.delete(id);
    kernel.disposed.connect(forget);
    try {
      const spec = services.kernelspecs.specs?.kernelspecs[kernel.name];
      const failure = await loadMagics(kernel, spec?.language);
      if (failure !== null) {
        failed.set(id, failure);
      }
      kernel.disposed.disconnect(forget);
      if (panel) {
        readRecord(panel);
      }
    } catch (error) {
      if (!kernel.isDisposed) {
        throw error;
      }
    }
    // another notebook may be current by now
    tell();
  };
  const readRecord = followKernels(
    model,
    site,
    tracker,
    records,
    services.sessions,
    services.serverSettings
  );
  records.changed.connect(tell);
  const look = (): void => void prepare();
  let followed: ISessionContext | null = null;
  model.changed.connect(look);
  site.changed.connect(look);
  tracker.currentChanged.connect((_, panel) => {
    // a notebook that was just opened has no kernel yet
    followed?.kernelChanged.disconnect(look);
    followed?.statusChanged.disconnect(look);
    followed?.propertyChanged.disconnect(look);
    followed = panel?.sessionContext ?? null;
    followed?.kernelChanged.connect(look);
    followed?.statusChanged.connect(look);
    followed?.propertyChanged.connect(look); // a rename
    look();
  });
}
