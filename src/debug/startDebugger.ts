import { JupyterFrontEnd } from '@jupyterlab/application';
import { IDebugger } from '@jupyterlab/debugger';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';

import { openNotebookOf, showNotebook } from '../locations/open';
import { formatRanks } from '../metrics/format';
import { Cluster, IKernelRecords, ILiveState } from '../tokens';
import { tellBriefly } from '../ui/text/toast';
import { debuggerOf, isDebugged, pressDebugButton } from './debugButton';
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

/** What is debugged: a rank, in the notebook that runs a cell there, or in the one that is named. */
interface IWhere {
  rank: number | undefined;
  /** The notebook, as its kernel calls it, whose cell has failed. */
  notebook?: string;
}

/**
 * Turn on the debugger of the notebook whose cell has failed, or whose cell a cluster runs.
 *
 * @returns false if the notebook can't be shown; the user has seen the reason.
 */
export async function switchOnFor(
  cluster: Cluster,
  { rank, notebook: named }: IWhere,
  parts: IDebugParts
): Promise<boolean> {
  const { app, tracker, debug, model, queue, records, trans, onError } = parts;
  const notebook = named ?? notebookOf(cluster, rank);
  if (!notebook) {
    throw new Error(trans.__('No notebook uses this cluster.'));
  }
  const opener = { commands: app.commands, tracker, records, trans };
  const panel = await showNotebook(notebook, opener);
  if (!panel) {
    return false;
  }
  await panel.sessionContext.ready;
  await turnOffOthers(cluster, panel, parts);
  app.shell.activateById(panel.id);
  await queue.idle();
  if (!isOnIn(panel, parts)) {
    const on = untilOn(model, trans, () => isOnIn(panel, parts));
    if (!(await isDebugged(panel))) {
      const shown = pressDebugButton(panel, debug, queue);
      // JupyterLab's initial globals would replace a rank's variables; while a cell runs they come later
      if (panel.sessionContext.session?.kernel?.status === 'idle') {
        await Promise.race([shown, on.then(() => after(SHOWN_WITHIN))]);
      } else {
        shown.catch(onError);
      }
    } else {
      model.refresh(); // refused while another notebook debugged the ranks, its kernel tries again when asked
    }
    await on;
  }
  return true;
}

/** Whether the ranks are debugged from this notebook: JupyterLab's session may be at another one. */
export function isOnIn(
  panel: NotebookPanel,
  { debug, model }: Pick<IDebugParts, 'debug' | 'model'>
): boolean {
  const its = panel.sessionContext.session?.id;
  return debug.session?.connection?.id === its && !!model.view?.on;
}

/**
 * Turn off the debuggers of other open notebooks of a cluster: one notebook at a time debugs its ranks.
 *
 * @throws if ranks are paused there, as they would run on.
 */
export async function turnOffOthers(
  cluster: Cluster,
  panel: NotebookPanel,
  parts: Pick<
    IDebugParts,
    'app' | 'debug' | 'queue' | 'records' | 'tracker' | 'trans'
  >
): Promise<void> {
  const { app, debug, queue, records, tracker, trans } = parts;
  for (const notebook of cluster.notebooks) {
    const other = openNotebookOf(tracker, notebook, records);
    if (!other || other === panel) {
      continue;
    }
    const { isStarted, holdsRanks } = await debuggerOf(other);
    if (!isStarted || !holdsRanks) {
      continue; // it was refused the ranks, or debugs a job: it is in nobody's way
    }
    const name = records.notebookName(notebook);
    const paused = cluster.ranks.filter(({ state }) => state === 'paused');
    if (paused.length) {
      throw new Error(
        trans._n(
          'Rank %2 is paused in the debugger of %3. Continue it there first.',
          'Ranks %2 are paused in the debugger of %3. Continue them there first.',
          paused.length,
          formatRanks(paused.map(({ rank }) => rank)),
          name
        )
      );
    }
    app.shell.activateById(other.id); // the bug acts only in the notebook in front
    // and on the kernel at which the session is, which follows the notebook in front later
    await queue.query(other);
    await queue.idle();
    await pressDebugButton(other, debug, queue);
    if ((await debuggerOf(other)).isStarted) {
      throw new Error(
        trans.__('The debugger of %1 is still on. Turn it off first.', name)
      );
    }
    tellBriefly(
      trans.__(
        '%1 is debugged now. The debugger of %2 is off, as both use %3.',
        panel.title.label,
        name,
        cluster.name
      ),
      'info'
    );
  }
}

function after(ms: number): Promise<void> {
  return new Promise(resolve => window.setTimeout(resolve, ms));
}
