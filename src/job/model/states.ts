import { TranslationBundle } from '@jupyterlab/translation';

import { JOB_ENDED } from '../../api/states';
import { Job } from '../../tokens';
import { GlyphKind } from '../../verdicts/glyphKind';
import { alarmOf } from '../../verdicts/verdict';

/** Whether it will not change any more. */
export function hasEnded(job: Pick<Job, 'state'>): boolean {
  return JOB_ENDED.includes(job.state);
}

/** Why the ranks of a job that runs can't be asked, as its head has ended before it; null if they can. */
export function unwatchedWhy(job: Job): string | null {
  return job.state === 'running' && job.reason?.code === 'head_ended'
    ? job.reason.message
    : null;
}

/** Whether nothing of a job that runs is known but that it runs: its head has ended, or says nothing. */
export function isUnwatched(job: Job): boolean {
  return (
    job.state === 'running' &&
    ['head_ended', 'unwatched'].includes(job.reason?.code ?? '')
  );
}

/** Whether the debugger has paused ranks of it. */
export function isPaused(job: Job): boolean {
  return job.state === 'running' && job.summary.code === 'paused';
}

/** The word for a job that nobody cancelled: its sweep ended it as it fell behind, or with all of its trials. */
export function stoppedBySweep(
  job: Job,
  trans: TranslationBundle
): string | null {
  const words: Record<string, string> = {
    job_pruned: trans.__('Stopped early'),
    job_stopped: trans.__('Stopped')
  };
  return job.state === 'cancelled' ? (words[job.summary.code] ?? null) : null;
}

/** The glyph of a job's state. */
export function jobGlyph(job: Job): GlyphKind {
  if (isPaused(job)) {
    return 'paused';
  }
  switch (job.state) {
    case 'running':
      return alarmOf(job.metrics) ? 'stuck' : 'busy';
    case 'succeeded':
      return 'good';
    case 'failed':
      return 'failed';
    case 'lost':
      return 'lost';
    case 'cancelled':
      return job.summary.code === 'job_stopped' ? 'interrupted' : 'cancelled';
    case 'queued':
      return job.reason?.final ? 'stuck' : 'idle';
    default:
      return 'starting';
  }
}

/** A job's state in one word. */
export function jobState(job: Job, trans: TranslationBundle): string {
  const words: Record<Job['state'], string> = {
    planned: trans.__('Planned'),
    queued: trans.__('Queued'),
    starting: trans.__('Starting'),
    running: trans.__('Running'),
    stopping: trans.__('Stopping'),
    succeeded: trans.__('Done'),
    failed: trans.__('Failed'),
    cancelled: trans.__('Cancelled'),
    lost: trans.__('Lost')
  };
  return isPaused(job)
    ? trans.__('Paused')
    : (stoppedBySweep(job, trans) ?? words[job.state]);
}
