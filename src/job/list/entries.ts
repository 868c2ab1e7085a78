import { TranslationBundle } from '@jupyterlab/translation';

import { Job, Sweep } from '../../tokens';
import { sweepEnded, sweepPassesText } from './sweeps';
import { JobFilter, passesFilter, passesText } from './filters';
import { hasEnded } from '../model/states';
import { ranFor } from '../model/texts';

/** Contents of a row: a job, or a sweep with the jobs of its trials. */
export type Entry =
  | { kind: 'job'; key: string; at: number; job: Job }
  | {
      kind: 'sweep';
      key: string;
      at: number;
      sweep: Sweep;
      trials: readonly Job[];
    };

export type Order = 'name' | 'profile' | 'time';

/**
 * Jobs and sweeps, newest first; jobs of trials are only listed below their sweep.
 *
 * @param loaded - sweeps; null while unknown: a sweep must not fall apart into its trials meanwhile
 */
export function entriesOf(
  jobs: readonly Job[],
  loaded: readonly Sweep[] | null
): Entry[] {
  const sweeps = loaded ?? [];
  const trialsOf = new Map<string, Job[]>(sweeps.map(sweep => [sweep.id, []]));
  const entries: Entry[] = [];
  for (const job of loaded ? jobs : jobs.filter(j => j.sweep === null)) {
    const trials = job.sweep === null ? undefined : trialsOf.get(job.sweep);
    if (trials) {
      trials.push(job);
    } else {
      entries.push({ kind: 'job', key: job.id, at: job.created_at, job });
    }
  }
  for (const sweep of sweeps) {
    const trials = trialsOf.get(sweep.id) ?? [];
    const at = sweep.created_at;
    entries.push({ kind: 'sweep', key: sweep.id, at, sweep, trials });
  }
  return entries.sort((a, b) => b.at - a.at);
}

export function entryPasses(entry: Entry, filter: JobFilter): boolean {
  return entry.kind === 'job'
    ? passesFilter(entry.job.state, hasEnded(entry.job), filter)
    : passesFilter(entry.sweep.state, sweepEnded(entry.sweep), filter);
}

/** Whether it matches the filter; a sweep also matches if one of its trials does. */
export function entryPassesText(
  entry: Entry,
  text: string,
  trans: TranslationBundle
): boolean {
  return entry.kind === 'job'
    ? passesText(entry.job, text, trans)
    : sweepPassesText(entry.sweep, text, trans) ||
        entry.trials.some(job => passesText(job, text, trans));
}

/** Trials of a sweep that match the filter, where the sweep itself does not; they are listed though it is folded. */
export function foundTrials(
  entry: Extract<Entry, { kind: 'sweep' }>,
  text: string,
  trans: TranslationBundle
): readonly Job[] {
  return sweepPassesText(entry.sweep, text, trans)
    ? []
    : entry.trials.filter(job => passesText(job, text, trans));
}

/** Sort by a column, in place; without this, the newest are first. */
export function sortEntries(entries: Entry[], by: Order, now: number): Entry[] {
  const of = (entry: Entry): Job | Sweep =>
    entry.kind === 'job' ? entry.job : entry.sweep;
  const time = (entry: Entry): number =>
    entry.kind === 'job'
      ? (ranFor(entry.job, now) ?? 0)
      : (entry.sweep.ran_s ?? 0);
  return entries.sort((a, b) =>
    by === 'time' ? time(b) - time(a) : of(a)[by].localeCompare(of(b)[by])
  );
}
