import { Notification } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';

import { CommandIDs } from '../commands';
import { ILiveState, IPreferences, Job } from '../tokens';
import { alarmOf } from '../verdicts/verdict';
import { hasEnded } from './model/states';
import { distinctName } from './model/texts';

/**
 * Notifies of jobs that hang, and of the start and end of jobs that were seen before, while the user's settings ask for
 * it. What was said of a job goes when that is no longer so.
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
  /** Job → its notification. */
  const notices = new Map<string, string>();
  /** Job → the hang that was announced, and its notification; null where the user saw it. */
  const hangs = new Map<string, { hang: string; notice: string | null }>();
  let first = true;
  const announceHang = (job: Job): void => {
    const hang = job.state === 'running' ? alarmOf(job.metrics)?.id : undefined;
    const known = hangs.get(job.id);
    if (known?.hang === hang) {
      return;
    }
    hangs.delete(job.id);
    if (known?.notice) {
      Notification.dismiss(known.notice);
    }
    if (hang !== undefined && preferences.values.notifyTrouble) {
      const notice = inView(job.id)
        ? null
        : tell(job, model.jobs, commands, trans);
      hangs.set(job.id, { hang, notice });
    }
  };
  model.changed.connect(() => {
    for (const job of model.jobs) {
      announceHang(job);
      const before = states.get(job.id);
      states.set(job.id, job.state);
      const notice = notices.get(job.id);
      if (notice !== undefined && before !== job.state) {
        notices.delete(job.id);
        Notification.dismiss(notice);
      }
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
        notices.set(job.id, tell(job, model.jobs, commands, trans));
      }
    }
    const listed = new Set(model.jobs.map(job => job.id));
    for (const [id, state] of states) {
      // frames leave out a job that has ended some time ago: it changes no more
      if (!listed.has(id) && hasEnded({ state })) {
        states.delete(id);
        notices.delete(id);
        hangs.delete(id);
      }
    }
    first = first && model.jobs.length === 0;
  });
}

/** Notify of a job's state; returns the id of the notification. */
function tell(
  job: Job,
  among: readonly Job[],
  commands: CommandRegistry,
  trans: TranslationBundle
): string {
  const called = distinctName(job, among, trans);
  const text = trans.__('%1: %2', called, job.summary.text);
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
  const hangs = job.state === 'running' && alarmOf(job.metrics) !== null;
  if (hangs || job.state === 'failed' || job.state === 'lost') {
    return Notification.error(text, options);
  }
  return job.state === 'succeeded'
    ? Notification.success(text, options)
    : Notification.info(text, options);
}
