import { TranslationBundle } from '@jupyterlab/translation';

import { Job } from '../../tokens';
import { jobState } from '../model/states';
import { notebookFile } from '../model/texts';

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
