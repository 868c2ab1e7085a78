import { TranslationBundle } from '@jupyterlab/translation';

import { ILiveState, Sweep } from '../../tokens';
import { formatCount } from '../../metrics/format';
import { hasEnded } from './states';

/** Numbers of jobs and sweeps that are queued or running. */
export interface IActive {
  jobs: number;
  sweeps: number;
  /** Number of those sweeps that are being stopped. */
  stopping: number;
}

/**
 * Numbers of jobs and of sweeps that are queued or running; the trials of a sweep count as one, like its row in the
 * list, from its start to its end: also while none of them runs.
 *
 * @param stopped - sweeps that were stopped in this page and have not ended; the server may not have told yet
 */
export function activeCounts(
  { jobs, sweeps }: Pick<ILiveState, 'jobs' | 'sweeps'>,
  stopped: readonly Sweep[] = []
): IActive {
  const active = jobs.filter(j => !hasEnded(j));
  const own = active.filter(j => j.sweep === null);
  const known = Object.keys(sweeps);
  const stopping = new Set([
    ...known.filter(id => sweeps[id] === 'stopping'),
    ...stopped.map(s => s.id)
  ]);
  const all = new Set([
    ...active.map(j => j.sweep).filter(s => s !== null),
    ...known,
    ...stopping
  ]);
  return { jobs: own.length, sweeps: all.size, stopping: stopping.size };
}

/** "2 active"; "1 stopping" where nothing else is. */
export function withState(
  what: string,
  counts: IActive,
  trans: TranslationBundle
): string {
  return counts.jobs === 0 && counts.sweeps === counts.stopping
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
