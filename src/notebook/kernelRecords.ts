import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { ServerConnection } from '@jupyterlab/services';

import { notePath, noteKernelUse } from '../locations/kernelPath';
import { request, RequestError } from '../request/rest';
import { ILiveState, ISite, KernelUse } from '../tokens';

/**
 * Read from the server what the kernels of open notebooks have recorded, and again when that may have changed:
 * kernels decide which cluster their notebooks use, and a busy kernel can't be asked.
 *
 * @returns reads a notebook's record now
 */
export function followKernels(
  model: ILiveState,
  site: ISite,
  tracker: INotebookTracker,
  settings: ServerConnection.ISettings
): (panel: NotebookPanel) => void {
  const read = async (panel: NotebookPanel): Promise<void> => {
    const kernel = panel.sessionContext.session?.kernel?.id;
    if (kernel && site.facts) {
      const path = `kernels/${kernel}`;
      noteKernelUse(kernel, await request<KernelUse>(settings, 'GET', path));
      notePath(panel);
    }
  };
  const look = (panel: NotebookPanel): void => {
    read(panel).catch(error => {
      const known =
        error instanceof ServerConnection.NetworkError ||
        error instanceof RequestError;
      // it is read again after the next change, or when the server is back; one of an earlier version has none
      if (!known) {
        throw error;
      }
    });
  };
  tracker.widgetAdded.connect((_, panel) => {
    const { context, sessionContext } = panel;
    sessionContext.kernelChanged.connect(() => look(panel));
    sessionContext.statusChanged.connect((_, status) => {
      // of several clusters, a cell may have chosen another one
      if (status === 'idle' && model.clusters.length > 1) {
        look(panel);
      }
    });
    context.pathChanged.connect(() => notePath(panel));
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
    const ids = model.clusters.map(({ id, notebooks }) => [id, notebooks]);
    const now = JSON.stringify([!!site.facts, model.link === 'lost', ids]);
    if (now !== before) {
      before = now;
      tracker.forEach(look);
    }
  };
  model.changed.connect(lookIfChanged);
  site.changed.connect(lookIfChanged);
  return look;
}
