import { TranslationBundle } from '@jupyterlab/translation';

import { Job, Sweep } from '../../tokens';
import { formatClock } from '../../metrics/format';
import { stoppedBySweep } from './states';

/** Its duration, s; null before its start. */
export function ranFor(job: Job, now: number): number | null {
  return job.started_at === null
    ? null
    : (job.ended_at ?? now / 1000) - job.started_at;
}

/** Kept: to make one takes longer than to draw a row of a list. */
const otherDay = new Intl.DateTimeFormat(undefined, {
  dateStyle: 'medium',
  timeStyle: 'short'
});

/** A short time: its time of day, and its date if that is not today. */
export function moment(at: number, now = Date.now(), exact = false): string {
  const date = new Date(at * 1000);
  const today = date.toDateString() === new Date(now).toDateString();
  if (today) {
    return formatClock(date, exact);
  }
  return exact
    ? date.toLocaleString(undefined, {
        dateStyle: 'medium',
        timeStyle: 'medium'
      })
    : otherDay.format(date);
}

/** What others may have the name of: a job, or a sweep. */
type Named = Pick<Job | Sweep, 'id' | 'name' | 'created_at'>;

/** When it was submitted: to the second where others of its name were in the same minute. */
export function submittedAt(of: Named, among: readonly Named[]): string {
  // compared as numbers: formatting takes long where many jobs have the name
  const minute = (one: Named): number => Math.floor(one.created_at / 60);
  const exact = namesakes(of, among).some(o => minute(o) === minute(of));
  return moment(of.created_at, Date.now(), exact);
}

/**
 * A job or sweep in a dialog or notification, as its tab calls it: `NAME`, or `NAME, 10:46 AM` where others of its kind
 * have that name. Those of the same second have their id, too.
 *
 * @param among - all known ones of its kind
 */
export function distinctName(
  of: Named,
  among: readonly Named[],
  trans: TranslationBundle
): string {
  const others = namesakes(of, among);
  if (!others.length || !of.created_at) {
    return of.name;
  }
  const at = submittedAt(of, among);
  const name = trans.__('%1, %2', of.name, at);
  return others.some(o => submittedAt(o, [of, o]) === at)
    ? trans.__('%1 (%2)', name, of.id)
    : name;
}

function namesakes(of: Named, among: readonly Named[]): readonly Named[] {
  return among.filter(o => o.id !== of.id && o.name === of.name);
}

/** A job with the time of its submission, in a sentence: "reg (10:46 AM)". */
export function timedJob(
  job: Pick<Job, 'name' | 'created_at'>,
  trans: TranslationBundle
): string {
  return job.created_at
    ? trans.__('%1 (%2)', job.name, moment(job.created_at))
    : job.name;
}

/**
 * The title of the tab of a job or sweep: its distinct name where others of its kind have that name.
 *
 * @param plain - the title where no other has its name
 * @param among - all known ones of its kind
 */
export function tabOf(
  { id, created_at }: Named,
  name: string,
  plain: string,
  among: readonly Named[],
  trans: TranslationBundle
): string {
  const distinct = distinctName({ id, name, created_at }, among, trans);
  return distinct === name ? plain : distinct;
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
