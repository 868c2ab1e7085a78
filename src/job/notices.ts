import { Notification } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';

import { CommandIDs } from '../commands';
import { ILiveState, IPreferences, Job } from '../tokens';
import { hasEnded } from './model/states';

/**
 * Notifies of the start and end of jobs that were seen before, while the user's settings ask for it.
 *
 * @param inView - whether the job is visible to the user
 */
export function announceJobs(
  model: ILiveState,
  preferences: IPreferences,
  commands: CommandRegistry,
  trans: TranslationBundle,
  inView: (id: string) => boolean
): void {
  const states = new Map<string, Job['state']>();
  let first = true;
  model.changed.connect(() => {
    for (const job of model.jobs) {
      const before = states.get(job.id);
      states.set(job.id, job.state);
      // a sweep has many trials, which its view shows
      const silent =
        first ||
        before === undefined ||
        !!job.sweep ||
        !preferences.values.notifyJobs;
      if (silent || before === job.state) {
        continue;
      }
      if ((job.state === 'running' || hasEnded(job)) && !inView(job.id)) {
        tell(job, commands, trans);
      }
    }
    first = first && model.jobs.length === 0;
  });
}

function tell(
  job: Job,
  commands: CommandRegistry,
  trans: TranslationBundle
): void {
  const text = trans.__('%1: %2', job.name, job.summary.text);
  const options = {
    autoClose: 8000 as const,
    actions: [
      {
        label: trans.__('Open'),
        callback: () =>
          void commands.execute(CommandIDs.openJob, {
            id: job.id,
            name: job.name
          })
      }
    ]
  };
  if (job.state === 'failed' || job.state === 'lost') {
    Notification.error(text, options);
  } else if (job.state === 'succeeded') {
    Notification.success(text, options);
  } else {
    Notification.info(text, options);
  }
}
