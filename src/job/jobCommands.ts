import { JupyterFrontEnd } from '@jupyterlab/application';
import { TranslationBundle } from '@jupyterlab/translation';

import { reportErrors } from '../cluster/dialogs/reportErrors';
import { confirmLoss } from '../cluster/dialogs/dialogs';
import { CommandIDs } from '../commands';
import { executedPath } from './executedDrive';
import { Job } from '../tokens';
import { JobRequests } from './model/requests';
import { currentFile } from '../locations/kernelPath';
import { onceAtATime } from '../request/once';

/** Arguments of commands for a job. */
export const JOB_ARGS = {
  args: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'Id of the job' },
      name: { type: 'string', description: 'Name of the job' }
    }
  }
} as const;

/** Commands for a job. `deleted`: called with a job that was deleted. */
export function addJobCommands(
  app: JupyterFrontEnd,
  jobs: JobRequests,
  trans: TranslationBundle,
  jobOf: (id: string) => Job | undefined,
  deleted: (id: string) => void
): void {
  const { commands } = app;
  // the second click of a double click would resume a job that the first one has already resumed
  const once = onceAtATime();
  const act = (
    id: string,
    label: string,
    run: (job: string, name: string) => Promise<void>
  ): void => {
    commands.addCommand(id, {
      label,
      execute: args =>
        once(`${id} ${String(args.id)}`, () =>
          reportErrors(trans, () =>
            run(String(args.id ?? ''), String(args.name ?? args.id ?? ''))
          )
        ),
      describedBy: JOB_ARGS
    });
  };
  act(CommandIDs.cancelJob, trans.__('Cancel…'), async (id, name) => {
    const waits = jobOf(id)?.started_at === null;
    const sure = await confirmLoss(
      trans.__('Cancel the job %1?', name),
      waits
        ? trans.__('It has not started, so nothing of it is lost.')
        : trans.__('Its ranks end. What it wrote stays, its checkpoints too.'),
      trans.__('Cancel job'),
      trans,
      waits ? trans.__('Keep it') : trans.__('Keep it running')
    );
    if (sure) {
      await jobs.cancel(id);
    }
  });
  act(CommandIDs.deleteJob, trans.__('Delete…'), async (id, name) => {
    const sure = await confirmLoss(
      trans.__('Delete the job %1?', name),
      trans.__(
        'Its folder is removed: log, executed notebook and checkpoints.'
      ),
      trans.__('Delete'),
      trans
    );
    if (sure) {
      await jobs.remove(id);
      deleted(id);
    }
  });
  act(CommandIDs.resumeJob, trans.__('Resume'), async id => {
    const job = await jobs.resume(id);
    await commands.execute(CommandIDs.openJob, { id: job.id, name: job.name });
  });
  act(CommandIDs.openExecuted, trans.__('Open Executed Notebook'), async id => {
    const job = await jobs.get(id);
    // also checked here: an error message is better than an unreadable document
    await jobs.executed(id);
    await commands.execute('docmanager:open', {
      path: executedPath(job),
      factory: 'Notebook'
    });
  });
  act(CommandIDs.jobStacks, trans.__('Stacks'), async (id, name) => {
    await commands.execute(CommandIDs.showStacks, { id, name, job: true });
  });
  act(CommandIDs.duplicateJob, trans.__('Duplicate…'), async id => {
    const { notebook } = await jobs.requestOf(id);
    await commands.execute(CommandIDs.submitNotebook, {
      path: currentFile(notebook),
      like: id
    });
  });
}
