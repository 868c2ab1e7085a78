import { CommandIDs } from '../../commands';
import { Job } from '../../tokens';
import { IMenuItem } from '../../ui/menu';
import { hasEnded } from '../model/states';

/** Menu with the actions for a job. */
export function menuOfJob(job: Job): IMenuItem[] {
  const args = { id: job.id, name: job.name };
  const wanted: [string, boolean][] = [
    [CommandIDs.openJob, true],
    [CommandIDs.openExecuted, hasEnded(job) && job.started_at !== null],
    [CommandIDs.resumeJob, job.may.includes('resume')],
    [CommandIDs.duplicateJob, job.may.includes('duplicate')],
    [CommandIDs.cancelJob, job.may.includes('cancel')],
    [CommandIDs.deleteJob, job.may.includes('delete')]
  ];
  return wanted.filter(w => w[1]).map(([command]) => ({ command, args }));
}
