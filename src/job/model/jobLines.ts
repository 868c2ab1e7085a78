import { PathExt } from '@jupyterlab/coreutils';
import { TranslationBundle } from '@jupyterlab/translation';

import { Job } from '../../tokens';
import { formatCount, formatRun } from '../../metrics/format';
import { isPaused, isUnwatched } from './states';
import { notebookFile, ranFor, submittedAt } from './texts';

/** Progress, reason or end in a few words, for a line of a list: of a job that is done, its notebook. */
export function jobLine(job: Job, trans: TranslationBundle): string {
  const cells = job.progress.find(p => p.phase === 'cells');
  const steps = Math.max(0, ...job.ranks.map(r => r.step ?? 0));
  if (
    job.state === 'running' &&
    !isPaused(job) &&
    cells &&
    !job.metrics.verdicts.some(v => v.headline)
  ) {
    const { done, total } = cells;
    if (isUnwatched(job)) {
      return trans.__('cell %1 of %2, not watched', done, total);
    }
    if (!steps) {
      return trans.__('cell %1 of %2', done, total);
    }
    // ranks count the steps of their processes, whatever the notebook calls the step that it resumed at
    return typeof job.resumed_step === 'number'
      ? trans._n(
          'cell %2 of %3, %4 step since resuming',
          'cell %2 of %3, %4 steps since resuming',
          steps,
          done,
          total,
          formatCount(steps)
        )
      : trans.__('cell %1 of %2, step %3', done, total, formatCount(steps));
  }
  if (job.state === 'succeeded') {
    return PathExt.basename(notebookFile(job));
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
 * has resumed, and where, or after which one it started over.
 *
 * @param line - what else it says
 */
export function resumedLine(
  job: Job,
  among: readonly Job[],
  trans: TranslationBundle,
  line = jobLine(job, trans)
): string {
  const parent = job.parent && among.find(j => j.id === job.parent);
  if (!parent || !hasNamesake(job, among)) {
    return line;
  }
  // as its own line has it
  const at = submittedAt(parent, among);
  const step = job.resumed_step ?? null;
  return step === null
    ? trans.__('Started over after the job of %1 · %2', at, line)
    : trans.__(
        'Resumed the job of %1 at step %2 · %3',
        at,
        formatCount(step),
        line
      );
}

/**
 * A job's line in a list without columns: if several jobs have its name, it says when it was submitted, as their tabs
 * do, or which one it resumes; if it is done, how long it took.
 */
export function rowLine(
  job: Job,
  among: readonly Job[],
  trans: TranslationBundle
): string {
  const line = jobLine(job, trans);
  const took =
    job.state === 'succeeded' ? formatRun(ranFor(job, 0), true) : null;
  if (
    job.created_at &&
    hasNamesake(job, among) &&
    !among.some(j => j.id === job.parent)
  ) {
    // without its notebook, which is that of its namesakes, and would need a third line
    const at = submittedAt(job, among);
    return trans.__('Submitted %1 · %2', at, took ?? line);
  }
  const whole = resumedLine(job, among, trans);
  return took === null ? whole : `${whole} · ${took}`;
}
