import { TranslationBundle } from '@jupyterlab/translation';
import { useEffect, useReducer, useState } from 'react';

import { IJobs, ILiveState, Job } from '../../tokens';
import { useViewState } from '../../ui/viewState';
import { usePoll } from '../../ui/hooks/poll';
import { refusalOf } from '../model/refusal';
import { hasEnded } from '../model/states';

/** Polling interval for a job that no frame contains, ms. */
const LOOK_MS = 2000;

interface IShownJobProps {
  id: string;
  model: ILiveState;
  jobs: IJobs;
  trans: TranslationBundle;
}

/**
 * The job of a view: as the frames have it, else as the server answers.
 *
 * @returns the job, or why it can't be shown: it may have been deleted meanwhile.
 */
export function useShownJob(props: IShownJobProps): {
  job: Job | null;
  error: string;
} {
  const { id, model, jobs, trans } = props;
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const [known, setKnown] = useViewState<Job | null>('job', null);
  const [error, setError] = useState('');
  const [deleted, setDeleted] = useState(false);
  useEffect(() => {
    model.changed.connect(redraw);
    return () => {
      model.changed.disconnect(redraw);
    };
  }, [model]);
  const live = model.jobs.find(j => j.id === id) ?? null;
  usePoll(`job ${id} ${live?.state ?? ''}`, LOOK_MS, async () => {
    try {
      const fetched = await jobs.get(id);
      setKnown(fetched);
      setError('');
      // frames report its changes, as long as they contain it and it has not ended
      return hasEnded(fetched)
        ? fetched.end_command?.exit_code === null
        : !live;
    } catch (failure) {
      const refusal = refusalOf(failure, trans);
      setError(refusal.message);
      if (refusal.status === 404) {
        setDeleted(true);
        return false;
      }
      throw refusal;
    }
  });
  if (deleted && !live) {
    const gone = known && trans.__('%1 has been deleted.', known.name);
    return { job: null, error: gone ?? error };
  }
  // frames omit the ranks of an ended job
  const job = live && (live.ranks.length || !known) ? live : (known ?? live);
  return { job, error };
}
