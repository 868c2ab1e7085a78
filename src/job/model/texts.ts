import { TranslationBundle } from '@jupyterlab/translation';

import { JOB_ENDED } from '../../api/states';
import { Job, JobPlan } from '../../tokens';
import { formatClock, formatGiB } from '../../metrics/format';
import { GlyphKind } from '../../verdicts/glyphKind';
import { alarmOf } from '../../verdicts/verdict';

/** Whether it will not change any more. */
export function hasEnded(job: Job): boolean {
  return JOB_ENDED.includes(job.state);
}

/**
 * Number of jobs that are queued or running; the trials of a sweep count as one, like its row in the list.
 */
export function countActive(jobs: readonly Job[]): number {
  return new Set(jobs.filter(j => !hasEnded(j)).map(j => j.sweep ?? j.id)).size;
}

/** Whether the debugger has paused ranks of it. */
export function isPaused(job: Job): boolean {
  return job.state === 'running' && job.summary.code === 'paused';
}

/** The word for a job that nobody cancelled: its sweep ended it as it fell behind, or with all of its trials. */
function stoppedBySweep(job: Job, trans: TranslationBundle): string | null {
  const words: Record<string, string> = {
    job_pruned: trans.__('Stopped early'),
    job_stopped: trans.__('Stopped')
  };
  return job.state === 'cancelled' ? (words[job.summary.code] ?? null) : null;
}

/** The glyph of a job's state. */
export function jobGlyph(job: Job): GlyphKind {
  if (isPaused(job)) {
    return 'paused';
  }
  switch (job.state) {
    case 'running':
      return alarmOf(job.metrics) ? 'stuck' : 'busy';
    case 'succeeded':
      return 'good';
    case 'failed':
      return 'failed';
    case 'lost':
      return 'lost';
    case 'cancelled':
      return job.summary.code === 'job_stopped' ? 'interrupted' : 'cancelled';
    case 'queued':
      return job.reason?.final ? 'stuck' : 'idle';
    default:
      return 'starting';
  }
}

/** A job's state in one word. */
export function jobState(job: Job, trans: TranslationBundle): string {
  const words: Record<Job['state'], string> = {
    planned: trans.__('Planned'),
    queued: trans.__('Queued'),
    starting: trans.__('Starting'),
    running: trans.__('Running'),
    stopping: trans.__('Stopping'),
    succeeded: trans.__('Done'),
    failed: trans.__('Failed'),
    cancelled: trans.__('Cancelled'),
    lost: trans.__('Lost')
  };
  return isPaused(job)
    ? trans.__('Paused')
    : (stoppedBySweep(job, trans) ?? words[job.state]);
}

/** Its duration, s; null before its start. */
export function ranFor(job: Job, now: number): number | null {
  return job.started_at === null
    ? null
    : (job.ended_at ?? now / 1000) - job.started_at;
}

/** Progress, reason or end in a few words, for a line of a list. */
export function jobLine(job: Job, trans: TranslationBundle): string {
  const cells = job.progress.find(p => p.phase === 'cells');
  const steps = Math.max(0, ...job.ranks.map(r => r.step ?? 0));
  if (
    job.state === 'running' &&
    !isPaused(job) &&
    cells &&
    !job.metrics.verdicts.some(v => v.headline)
  ) {
    const cell = trans.__('cell %1 of %2', cells.done, cells.total);
    return steps ? `${cell}, ${trans.__('step %1', steps)}` : cell;
  }
  if (job.state === 'succeeded') {
    return trans.__('The executed notebook is ready');
  }
  const at = job.error;
  if (job.state === 'failed' && at?.cell && at.line) {
    return trans.__(
      'Rank %1, cell %2, line %3: %4',
      at.rank,
      at.cell,
      at.line,
      at.message ? `${at.type}: ${at.message}` : at.type
    );
  }
  return job.summary.text;
}

/** Whether other jobs have the name of this one. */
function hasNamesake(job: Job, among: readonly Job[]): boolean {
  return among.some(j => j.name === job.name && j.id !== job.id);
}

/**
 * A job's line in a list that says elsewhere when it was submitted: if several jobs have its name, it says which one it
 * resumes.
 */
export function resumedLine(
  job: Job,
  among: readonly Job[],
  trans: TranslationBundle
): string {
  const line = jobLine(job, trans);
  const parent = among.find(j => j.id === job.parent);
  return parent && hasNamesake(job, among)
    ? trans.__('Resumes the job of %1 · %2', moment(parent.created_at), line)
    : line;
}

/**
 * A job's line in a list: if several jobs have its name, it says when it was submitted, and which one it
 * resumes.
 */
export function rowLine(
  job: Job,
  among: readonly Job[],
  trans: TranslationBundle
): string {
  const line = jobLine(job, trans);
  return hasNamesake(job, among) && !among.some(j => j.id === job.parent)
    ? trans.__('Submitted %1 · %2', moment(job.created_at), line)
    : resumedLine(job, among, trans);
}

/** Filters of the list, with a separate one for each kind of end. */
export type JobFilter =
  'all' | 'active' | 'failed' | 'succeeded' | 'cancelled' | 'stopped' | 'lost';

/** Whether a filter accepts this state, given whether it has ended. */
export function passesFilter(
  state: string,
  ended: boolean,
  filter: JobFilter
): boolean {
  switch (filter) {
    case 'all':
      return true;
    case 'active':
      return !ended;
    default:
      return state === filter;
  }
}

/** Whether a job matches the filter: part of its name, state, profile or notebook. */
export function passesText(
  job: Job,
  text: string,
  trans: TranslationBundle
): boolean {
  const wanted = text.trim().toLowerCase();
  const has = [job.name, job.profile, notebookFile(job), jobState(job, trans)];
  return has.some(part => part.toLowerCase().includes(wanted));
}

const hoursFormat = new Intl.NumberFormat(undefined, {
  maximumFractionDigits: 1
});

/** GPU-hours and the like: 0.5, 768, 4,300. */
export function formatHours(hours: number): string {
  return hoursFormat.format(hours);
}

/** A short time: its time of day, and its date if that is not today. */
export function moment(at: number, now = Date.now()): string {
  const date = new Date(at * 1000);
  const today = date.toDateString() === new Date(now).toDateString();
  return today
    ? formatClock(date)
    : date.toLocaleString(undefined, {
        dateStyle: 'medium',
        timeStyle: 'short'
      });
}

/** Hours that a job may use, and the hours left of its account. */
export function budgetWords(
  budget: NonNullable<JobPlan['budget']>,
  trans: TranslationBundle
): string {
  const left = formatHours(budget.left_hours);
  const hours =
    budget.unit === 'GPU' ? trans.__('GPU-hours') : trans.__('CPU-hours');
  return budget.asked_hours === null
    ? trans.__('%1 %2 left', left, hours)
    : trans.__(
        'At most %1 of the %2 %3 left',
        formatHours(budget.asked_hours),
        left,
        hours
      );
}

/** Free space in a job's future folder: the smaller of disk space and quota. */
export function freeSpaceText(
  space: NonNullable<JobPlan['room']>,
  trans: TranslationBundle
): string {
  const { free_bytes: free, quota_bytes: quota } = space;
  if (quota !== null && (free === null || quota < free)) {
    return trans.__('Your quota leaves %1 GiB', formatGiB(quota));
  }
  return free === null ? '' : trans.__('%1 GiB of disk free', formatGiB(free));
}

/** Why a job's log has no first error to show; null if it has one. */
export function whyNoError(job: Job, trans: TranslationBundle): string | null {
  if (job.state === 'cancelled') {
    // its error is how its ranks were ended, which is in no line
    return stoppedBySweep(job, trans)
      ? trans.__('The sweep stopped the job; no rank failed.')
      : trans.__('The job was cancelled; no rank failed.');
  }
  return (job.error?.rank ?? null) === null
    ? trans.__('No rank has failed.')
    : null;
}

/** The file of a job's or sweep's notebook: its path in JupyterLab, or on the machine if it is outside. */
export function notebookFile(
  of: Pick<Job, 'notebook' | 'notebook_path' | 'source'>
): string {
  return of.notebook_path ?? (of.source || of.notebook);
}

/** What resuming a job does, on its page or that of a sweep whose best trial it is; and why. */
export function resumeWords(
  job: Pick<Job, 'checkpoint_step' | 'begins_again'>,
  trans: TranslationBundle,
  best = false
): { label: string; why?: string } {
  const step = job.checkpoint_step;
  if (step === null) {
    return {
      label: best ? trans.__('Run the best again') : trans.__('Run again')
    };
  }
  if (job.begins_again) {
    return {
      label: best
        ? trans.__('Run the best again from the beginning')
        : trans.__('Run again from the beginning'),
      why: trans.__(
        'The notebook saved checkpoints but never loads one (dt.latest_checkpoint).'
      )
    };
  }
  const at = step.toLocaleString();
  return {
    label: best
      ? trans.__('Resume from its checkpoint, step %1', at)
      : trans.__('Resume from step %1', at)
  };
}
