import { TranslationBundle } from '@jupyterlab/translation';

/** The drive of the notebooks that jobs have left. */
export const DRIVE = 'dtrain-jobs';

/** Whether this is the path of a notebook that a job has left. */
export function isExecuted(path: string): boolean {
  return path.startsWith(`${DRIVE}:`);
}

/** Why a notebook can't be submitted: it is what a job has left. Null if it can be. */
export function whyNoJob(
  path: string | null,
  trans: TranslationBundle
): string | null {
  return path && isExecuted(path)
    ? trans.__(
        'A job wrote this notebook. To submit, open the one that the job ran.'
      )
    : null;
}
