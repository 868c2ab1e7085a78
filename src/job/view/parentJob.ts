import { TranslationBundle } from '@jupyterlab/translation';
import { useState } from 'react';

import { usePoll } from '../../ui/hooks/poll';
import { IJobs, Job } from '../../tokens';
import { refusalOf } from '../model/refusal';

/** Interval at which a server that doesn't answer is asked again, ms. */
const LOOK_MS = 5000;

/** The job that another one continues. */
export interface IParentJob {
  /** Null if it is not known. */
  job: Job | null;
  isDeleted: boolean;
}

/**
 * The job that another one continues: as the frames have it, which contain the newest jobs only, else as the server
 * answers.
 *
 * @param id - of that job; null without one
 * @param listed - jobs in the frames
 */
export function useParentJob(
  id: string | null,
  listed: readonly Job[],
  jobs: IJobs,
  trans: TranslationBundle
): IParentJob {
  const [known, setKnown] = useState<Job | null>(null);
  const [deleted, setDeleted] = useState<string | null>(null);
  const live = listed.find(job => job.id === id) ?? null;
  usePoll(`parent ${id} ${live !== null}`, LOOK_MS, async () => {
    if (id === null || live) {
      return false;
    }
    try {
      setKnown(await jobs.get(id));
    } catch (failure) {
      const refusal = refusalOf(failure, trans);
      if (refusal.status !== 404) {
        throw refusal;
      }
      setDeleted(id);
    }
    return false;
  });
  return {
    job: live ?? (known?.id === id ? known : null),
    isDeleted: !live && id !== null && deleted === id
  };
}
