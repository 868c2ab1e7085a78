import { TranslationBundle } from '@jupyterlab/translation';

import { Job, Sweep } from '../../tokens';
import { formatCount } from '../../metrics/format';
import { hasEnded } from './states';

/**
 * Numbers of jobs and of sweeps that are queued or running; the trials of a sweep count as one, like its row in the
 * list.
 *
 * @param stopping - sweeps that are being stopped: their trials may have ended before them
 */
export function activeCounts(
  jobs: readonly Job[],
  stopping: readonly Sweep[] = []
): { jobs: number; sweeps: number } {
  const active = jobs.filter(j => !hasEnded(j));
  const own = active.filter(j => j.sweep === null);
  const sweeps = new Set([
    ...active.map(j => j.sweep).filter(s => s !== null),
    ...stopping.map(s => s.id)
  ]);
  return { jobs: own.length, sweeps: sweeps.size };
}

/** "2 active"; "1 stopping" where nothing else is. */
export function withState(
  what: string,
  counts: { jobs: number; sweeps: number },
  stopping: readonly Sweep[],
  trans: TranslationBundle
): string {
  return counts.jobs === 0 && counts.sweeps === stopping.length
    ? trans.__('%1 stopping', what)
    : trans.__('%1 active', what);
}

/** "2 jobs", "1 sweep", "1 job, 1 sweep": active ones, each sweep with its trials as one. */
export function activeText(
  counts: { jobs: number; sweeps: number },
  trans: TranslationBundle,
  both = '%1, %2'
): string {
  const jobs = trans._n(
    '%2 job',
    '%2 jobs',
    counts.jobs,
    formatCount(counts.jobs)
  );
  const sweeps = trans._n(
    '%2 sweep',
    '%2 sweeps',
    counts.sweeps,
    formatCount(counts.sweeps)
  );
  return !counts.sweeps
    ? jobs
    : !counts.jobs
      ? sweeps
      : both.replace('%1', jobs).replace('%2', sweeps);
}

/** "2 jobs are active.", "1 job and 1 sweep are active.": the same as a sentence. */
export function activeSentence(
  counts: { jobs: number; sweeps: number },
  trans: TranslationBundle
): string {
  return trans._n(
    '%2 is active.',
    '%2 are active.',
    counts.jobs + counts.sweeps,
    activeText(counts, trans, trans.__('%1 and %2', '%1', '%2'))
  );
}
