import { JupyterFrontEnd } from '@jupyterlab/application';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';

import { reportErrors } from '../cluster/dialogs/reportErrors';
import { confirmLoss } from '../cluster/dialogs/dialogs';
import { CommandIDs, isId } from '../commands';
import { withNames } from './model/refusal';
import { executedPath } from './executedDrive';
import { IJobs, IKernelRecords, Job } from '../tokens';
import { onceAtATime } from '../request/once';
import { tellBriefly } from '../ui/text/toast';
import { hasEnded } from './model/states';
import { distinctName } from './model/texts';

/** Arguments of commands for a job. */
export const JOB_ARGS = {
  args: {
    type: 'object',
    required: ['id'],
    properties: {
      id: { type: 'string', description: 'Id of the job' },
      name: { type: 'string', description: 'Name of the job' }
    }
  }
} as const;

/**
 * Adds a command for a job; `may` is the permission that is required, null for none.
 */
type Add = (
  id: string,
  label: string,
  caption: string,
  may: string | null,
  run: (job: string, name: string) => Promise<void>
) => void;

/** The function that adds a command for a job; `jobOf` finds those that are known without a request. */
function adder(
  commands: CommandRegistry,
  trans: TranslationBundle,
  jobOf: (id: string) => Job | undefined
): Add {
  // the second click of a double click would resume a job that the first one has already resumed
  const once = onceAtATime();
  return (id, label, caption, may, run) => {
    const whyNot = (job: unknown): string | null => {
      if (!isId(job)) {
        return trans.__('Choose this in the list of jobs.');
      }
      const known = jobOf(job);
      return known && may && !known.may.includes(may)
        ? trans.__('Not possible now. %1', known.summary.text)
        : null;
    };
    commands.addCommand(id, {
      label,
      caption: args => whyNot(args.id) ?? caption,
      isEnabled: args => whyNot(args.id) === null,
      execute: async args => {
        const { id: job, name } = args;
        if (isId(job)) {
          await once(`${id} ${job}`, () =>
            reportErrors(trans, () => run(job, String(name ?? job)))
          );
        }
      },
      describedBy: JOB_ARGS
    });
  };
}

/** Cancel a job, or say how it has ended while the user was asked. */
async function cancelJob(
  id: string,
  name: string,
  jobs: Pick<IJobs, 'cancel'>,
  jobOf: (id: string) => Job | undefined,
  trans: TranslationBundle
): Promise<void> {
  const before = jobOf(id);
  const after = await jobs.cancel(id);
  const known = before !== undefined && isOver(before);
  // it may also have ended since the last frame; one that is cancelled now was cancelled here
  if (known || (isOver(after) && after.state !== 'cancelled')) {
    const { text } = (known ? before : after).summary;
    tellBriefly(trans.__('%1 had already ended: %2', name, text), 'info');
  }
}

/** Whether nothing of a job is left to cancel: a lost one may still run. */
function isOver(job: Job): boolean {
  return hasEnded(job) && job.state !== 'lost';
}

/** Commands for a job. `live`: those that frames tell of; `deleted`: called with a job that was deleted. */
export function addJobCommands(
  app: JupyterFrontEnd,
  jobs: IJobs,
  records: IKernelRecords,
  trans: TranslationBundle,
  live: () => readonly Job[],
  deleted: (id: string) => void
): void {
  const { commands } = app;
  const jobOf = (id: string): Job | undefined =>
    live().find(job => job.id === id);
  // an older job, which frames leave out, may have the same name
  const called = async (id: string, name: string): Promise<string> => {
    let known = [...live(), ...jobs.lastAnswer];
    if (!known.some(job => job.id === id)) {
      known = [...known, ...(await jobs.all())];
    }
    const job = known.find(one => one.id === id);
    return job ? distinctName(job, known, trans) : name;
  };
  const act = adder(commands, trans, jobOf);
  act(
    CommandIDs.cancelJob,
    trans.__('Cancel…'),
    trans.__('End the ranks of a job; what it wrote stays'),
    'cancel',
    async (id, given) => {
      const name = await called(id, given);
      const waits = jobOf(id)?.started_at === null;
      const sure = await confirmLoss(
        trans.__('Cancel the job %1?', name),
        waits
          ? trans.__('It has not started, so nothing of it is lost.')
          : trans.__(
              'Its ranks end. What it wrote stays, its checkpoints too.'
            ),
        trans.__('Cancel job'),
        trans,
        waits ? trans.__('Keep it') : trans.__('Keep it running')
      );
      if (sure) {
        await cancelJob(id, name, jobs, jobOf, trans);
      }
    }
  );
  act(
    CommandIDs.deleteJob,
    trans.__('Delete…'),
    trans.__('Remove a job with its folder'),
    'delete',
    async (id, name) => {
      const sure = await confirmLoss(
        trans.__('Delete the job %1?', await called(id, name)),
        trans.__(
          'Its folder is removed: log, executed notebook and checkpoints.'
        ),
        trans.__('Delete'),
        trans
      );
      if (sure) {
        await jobs.remove(id).catch(async error => {
          // without an answer, those of the last one: the refusal itself must be told
          const known = await jobs.all().catch(() => jobs.lastAnswer);
          throw withNames(error, id, known, trans);
        });
        deleted(id);
      }
    }
  );
  act(
    CommandIDs.resumeJob,
    trans.__('Resume'),
    trans.__('Submit the job again, from its last checkpoint'),
    'resume',
    async id => {
      const job = await jobs.resume(id);
      await commands.execute(CommandIDs.openJob, {
        id: job.id,
        name: job.name
      });
    }
  );
  act(
    CommandIDs.openExecuted,
    trans.__('Open Executed Notebook'),
    trans.__('Open the notebook with the output of the job'),
    null,
    async id => {
      const job = await jobs.get(id);
      // also checked here: an error message is better than an unreadable document
      await jobs.executed(id);
      await commands.execute('docmanager:open', {
        path: executedPath(job),
        factory: 'Notebook'
      });
    }
  );
  act(
    CommandIDs.jobStacks,
    trans.__('Stacks'),
    trans.__('Show what each rank of a job executes'),
    'stacks',
    async (id, name) => {
      await commands.execute(CommandIDs.showStacks, { id, name, job: true });
    }
  );
  act(
    CommandIDs.duplicateJob,
    trans.__('Duplicate…'),
    trans.__('Open Submit with the request of a job'),
    'duplicate',
    async id => {
      const { notebook } = await jobs.requestOf(id);
      await commands.execute(CommandIDs.submitNotebook, {
        path: records.currentFile(notebook),
        like: id
      });
    }
  );
}
