import { Notification } from '@jupyterlab/apputils';
import { NotebookPanel } from '@jupyterlab/notebook';

import {
  attachedTo,
  othersText,
  usedBy
} from '../cluster/model/notebookCluster';
import { goToCell, indexIn, openFile } from '../locations/open';
import { CommandIDs, isId } from '../commands';
import { distinctName, notebookFile } from '../job/model/texts';
import { DEBUGGER_SIDEBAR } from '../jupyterlab/markup';
import { runQuietly } from '../notebook/kernel';
import { Cluster, IJobs, Job } from '../tokens';
import { alarmOf } from '../verdicts/verdict';
import { isDebugged, pressDebugButton } from './debugButton';
import { askHow } from './debugFailedJob';
import { EndWithJob } from './endWithJob';
import { untilOn } from './model/waitForRanks';
import { IDebugParts, isOnIn, turnOffOthers } from './startDebugger';

const TOLD_MS = 12_000;

/** The command that debugs a job: a running job directly, a failed one again in a cluster. */
export function addDebugJob(
  parts: IDebugParts,
  jobs: IJobs,
  ends: Pick<EndWithJob, 'ready' | 'follow' | 'leave'>
): void {
  const { app, clusters, records, trans, onError } = parts;
  app.commands.addCommand(CommandIDs.debugJob, {
    label: trans.__('Debug a Job'),
    caption: trans.__(
      'Debug a running job from its notebook; one that failed, in a cluster'
    ),
    isEnabled: args => isId(args.id),
    execute: async args => {
      const { id } = args;
      if (!isId(id)) {
        return;
      }
      const known = clusters.jobs.find(j => j.id === id);
      const job = known ?? (await jobs.get(id).catch(onError));
      if (!job) {
        return;
      }
      const panel = await openFile<NotebookPanel>(
        records.currentFile(notebookFile(job)),
        { commands: app.commands, trans },
        'Notebook'
      );
      if (!panel) {
        return;
      }
      await panel.sessionContext.ready;
      try {
        await (job.ended_at === null
          ? running(job, panel, ends, parts)
          : failed(job, panel, jobs, parts));
      } catch (error) {
        onError(error);
      }
    },
    describedBy: {
      args: {
        type: 'object',
        required: ['id'],
        properties: { id: { type: 'string', description: 'Id of the job' } }
      }
    }
  });
}

async function running(
  job: Job,
  panel: NotebookPanel,
  ends: Pick<EndWithJob, 'ready' | 'follow' | 'leave'>,
  { app, clusters, debug, model, queue, trans }: IDebugParts
): Promise<void> {
  const kernel = panel.sessionContext.session?.kernel;
  if (!kernel) {
    throw new Error(trans.__('The notebook has no kernel.'));
  }
  await ends.ready;
  // of another job, which this one replaces
  let turnedOn = ends.leave(kernel.id);
  const error = await runQuietly(kernel, debugCode(job.id));
  if (error) {
    throw new Error(error.evalue);
  }
  app.shell.activateById(panel.id);
  await queue.idle();
  if (!model.view?.on) {
    const pressed = isDebugged(panel).then(async is => {
      if (!is) {
        turnedOn = true;
        await pressDebugButton(panel, debug, queue);
      }
    });
    // a notebook may lack the bug button; JupyterLab's initial globals would replace a rank's variables
    await Promise.all([untilOn(model, trans), pressed]);
  }
  if (turnedOn) {
    ends.follow(kernel.id, job.id);
  }
  const stuck = alarmOf(job.metrics)?.ranks ?? [];
  if (stuck.length && !stuck.includes(model.view?.focus ?? -1)) {
    await model.focus(stuck[0]);
  }
  app.shell.activateById(DEBUGGER_SIDEBAR);
  Notification.info(
    trans.__(
      'Breakpoints of this notebook stop the job "%1" now; Pause stops it where it is.',
      distinctName(job, clusters.jobs, trans)
    ),
    { autoClose: TOLD_MS }
  );
}

/** Debug a failed job again: open its notebook at the failing line, and say what to do next. */
async function failed(
  job: Job,
  panel: NotebookPanel,
  jobs: Pick<IJobs, 'executed'>,
  parts: IDebugParts
): Promise<void> {
  const { app, clusters, debug, queue, records, trans, onError } = parts;
  app.shell.activateById(panel.id);
  const at = job.error;
  if (at?.cell) {
    const index = indexIn(panel, { cell: at.cell }, true);
    await goToCell(panel, index, at.line ?? 1);
  }
  const path = records.kernelPath(panel);

  const own = (): Cluster | null =>
    attachedTo(clusters.clusters, path, records.lastCluster(panel));
  // else the cluster in its toolbar: the notebook is attached to that only once a cell has run
  const next = usedBy(clusters.clusters, path, records.lastCluster(panel));
  const others = next
    ? othersText(next, { path, startedAs: path }, records, trans)
    : '';
  // without a copy that can be read, there is nothing to compare the notebook with
  const copy = await jobs.executed(job.id).catch(() => null);
  const how = await askHow(
    { ...job, name: distinctName(job, clusters.jobs, trans) },
    panel,
    copy,
    { own: own(), next, others },
    trans
  );
  if (!how) {
    return;
  }
  const id =
    how.cluster ??
    ((await app.commands.execute(CommandIDs.startCluster, {
      ranks: job.world.size,
      ask: true
    })) as string | null);
  if (!id) {
    return;
  }
  app.shell.activateById(panel.id);
  if (own()?.id !== id) {
    await app.commands.execute(CommandIDs.attachNotebook, { id });
  }
  const cluster = clusters.clusters.find(one => one.id === id);
  if (cluster) {
    await turnOffOthers(cluster, panel, parts);
    app.shell.activateById(panel.id);
  }
  await queue.idle();
  if (!isOnIn(panel, parts) && !(await isDebugged(panel))) {
    pressDebugButton(panel, debug, queue).catch(onError);
  }
  app.shell.activateById(DEBUGGER_SIDEBAR);
  Notification.info(
    // JupyterLab truncates texts of more than 140 characters
    trans.__(
      'Run its cells: where a rank fails, "Look where it failed" shows its variables.'
    ),
    { autoClose: TOLD_MS }
  );
}

/** The code that a notebook's kernel runs to debug a job. */
function debugCode(id: string): string {
  return [
    "__import__('dtrain_lab').load_ipython_extension(get_ipython())",
    `__import__('dtrain_lab.api.job', fromlist=['job']).job(${JSON.stringify(id)}).debug()`
  ].join('\n');
}
