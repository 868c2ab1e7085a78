import { TranslationBundle } from '@jupyterlab/translation';
import { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import { hasEnded } from '../job/model/states';
import { formatCount } from '../metrics/format';
import { ILiveState, Job } from '../tokens';

/**
 * Jobs that have failed since this page has known them, until the user has looked at them. Trials of sweeps are not
 * among them: a sweep has many, which its view shows.
 */
export class FailedJobs implements IDisposable {
  /** Emitted when the user may have looked at a job. */
  readonly changed = new Signal<this, void>(this);

  /**
   * @param _model - all jobs
   * @param _inView - whether a job is visible, by its id
   */
  constructor(
    private _model: Pick<ILiveState, 'changed' | 'jobs'>,
    private _inView: (id: string) => boolean
  ) {
    _model.changed.connect(this._read, this);
    this._read();
  }

  /** Those to name, newest first. */
  get jobs(): readonly Job[] {
    return this._model.jobs.filter(({ id }) => this._unseen.has(id));
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this._model.changed.disconnect(this._read, this);
      Signal.clearData(this);
    }
  }

  /** Another view is in front. */
  look(): void {
    this._look();
    this.changed.emit();
  }

  private _read(): void {
    for (const job of this._model.jobs) {
      if (!hasEnded(job)) {
        this._active.add(job.id);
        this._unseen.delete(job.id);
      } else if (this._active.delete(job.id) && isFailed(job)) {
        this._unseen.add(job.id);
      }
    }
    this._look();
  }

  private _look(): void {
    for (const id of this._unseen) {
      if (this._inView(id)) {
        this._unseen.delete(id);
      }
    }
  }

  /** Jobs that this page has known before their end. */
  private _active = new Set<string>();
  private _isDisposed = false;
  /** Those of them that have failed, and that the user has not looked at. */
  private _unseen = new Set<string>();
}

function isFailed({ state, sweep }: Job): boolean {
  return sweep === null && (state === 'failed' || state === 'lost');
}

/** What the status bar says of failed jobs. */
export interface IFailedJobs {
  /** "Job tune: rank 1 failed", "3 jobs failed". */
  text: string;
  /** The job; null if there are several. */
  job: Job | null;
}

/** What the status bar says of failed jobs; null if there are none. */
export function failedText(
  jobs: readonly Job[],
  trans: TranslationBundle
): IFailedJobs | null {
  if (jobs.length > 1) {
    const count = formatCount(jobs.length);
    const text = trans._n(
      '%2 job failed',
      '%2 jobs failed',
      jobs.length,
      count
    );
    return { text, job: null };
  }
  return jobs.length ? { text: oneText(jobs[0], trans), job: jobs[0] } : null;
}

function oneText(job: Job, trans: TranslationBundle): string {
  const rank = job.failed_rank ?? job.error?.rank ?? null;
  if (job.state === 'lost') {
    return trans.__('Job %1: lost', job.name);
  }
  if (job.started_at === null) {
    return trans.__('Job %1: did not start', job.name);
  }
  return rank === null
    ? trans.__('Job %1: failed', job.name)
    : trans.__('Job %1: rank %2 failed', job.name, rank);
}
