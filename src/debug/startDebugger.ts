import { JupyterFrontEnd } from '@jupyterlab/application';
import { IDebugger } from '@jupyterlab/debugger';
import { INotebookTracker } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';

import { showNotebook } from '../locations/open';
import { Cluster, IKernelRecords, ILiveState } from '../tokens';
import { isDebugged, pressDebugButton } from './debugButton';
import { DebugModel } from './model/model';
import { notebookOf } from './model/notebookOf';
import { untilOn } from './model/waitForRanks';
import { SessionQueue } from './sessionQueue';

/** What the debugger's commands use. */
export interface IDebugParts {
  app: JupyterFrontEnd;
  clusters: ILiveState;
  tracker: INotebookTracker;
  debug: IDebugger;
  model: DebugModel;
  queue: Pick<SessionQueue, 'idle' | 'query'>;
  records: IKernelRecords;
  trans: TranslationBundle;
  onError: (error: unknown) => void;
}

/** Ms until JupyterLab has shown the globals after the debugger is turned on. */
const SHOWN_WITHIN = 10_000;

/**
 * Turn on the debugger of the notebook whose cell a cluster runs.
 *
 * @returns false if the notebook can't be shown; the user has seen the reason.
 */
export async function switchOnFor(
  cluster: Cluster,
  rank: number | undefined,
  parts: IDebugParts
): Promise<boolean> {
  const { app, tracker, debug, model, queue, records, trans, onError } = parts;
  const notebook = notebookOf(cluster, rank);
  if (!notebook) {
    throw new Error(trans.__('No notebook uses this cluster.'));
  }
  const opener = { commands: app.commands, tracker, records, trans };
  const panel = await showNotebook(notebook, opener);
  if (!panel) {
    return false;
  }
  await panel.sessionContext.ready;
  app.shell.activateById(panel.id);
  if (!model.view?.on) {
    const on = untilOn(model, trans);
    await queue.idle();
    if (!(await isDebugged(panel))) {
      const shown = pressDebugButton(panel, debug, queue);
      // JupyterLab's initial globals would replace a rank's variables; while a cell runs they come later
      if (panel.sessionContext.session?.kernel?.status === 'idle') {
        await Promise.race([shown, on.then(() => after(SHOWN_WITHIN))]);
      } else {
        shown.catch(onError);
      }
    }
    await on;
  }
  return true;
}

function after(ms: number): Promise<void> {
  return new Promise(resolve => window.setTimeout(resolve, ms));
}
