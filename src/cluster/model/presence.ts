import { ServerConnection } from '@jupyterlab/services';
import { IDisposable } from '@lumino/disposable';
import { Poll } from '@lumino/polling';

import { JOB_ENDED } from '../../api/states';
import { request } from '../../request/rest';
import { ILiveState, Job } from '../../tokens';

/** Interval of requests while no frames are requested, ms. */
const LOOK_EVERY = 10_000;

/** What is watched. */
interface IWatched extends Pick<
  ILiveState,
  | 'changed'
  | 'clusters'
  | 'isKnown'
  | 'jobs'
  | 'lastFrameAt'
  | 'sweeps'
  | 'watch'
> {
  /** Whether frames are requested. */
  readonly isLive: boolean;
}

/** Whether one of these jobs is queued or running. */
function anyActive(jobs: readonly Job[]): boolean {
  return jobs.some(({ state }) => !JOB_ENDED.includes(state));
}

/**
 * Requests frames while there is a cluster, or a job or sweep that has not ended, and asks the server now and then while there
 * is none.
 */
export class Presence implements IDisposable {
  /**
   * @param _answered - called when the server has said whether there is anything
   */
  constructor(
    private _model: IWatched,
    private _settings: ServerConnection.ISettings,
    private _answered: () => void
  ) {
    _model.changed.connect(this._decide, this);
  }

  get isDisposed(): boolean {
    return this._poll.isDisposed;
  }

  dispose(): void {
    if (!this.isDisposed) {
      this._model.changed.disconnect(this._decide, this);
      this._poll.dispose();
      this._release();
    }
  }

  /** Ask now. */
  look(): void {
    void this._poll.refresh();
  }

  private _decide(): void {
    const { clusters, jobs, lastFrameAt, sweeps } = this._model;
    if (clusters.length || anyActive(jobs) || Object.keys(sweeps).length) {
      this._watching ??= this._model.watch();
    } else if (lastFrameAt) {
      this._release(); // a frame says that nothing is left
    }
  }

  private async _look(): Promise<void> {
    const { isLive, isKnown } = this._model;
    if (isLive && isKnown) {
      return; // frames tell; where the first does not come, as behind a proxy without WebSockets, the server is asked
    }
    const exists = await this._ask();
    if (exists && !this.isDisposed) {
      this._watching ??= this._model.watch();
    }
    this._answered();
  }

  private async _ask(): Promise<boolean> {
    const settings = this._settings;
    if ((await request(settings, 'GET', '/clusters')).length) {
      return true;
    }
    if (anyActive(await request(settings, 'GET', '/jobs'))) {
      return true;
    }
    const query = { active: '1' }; // a sweep may be between two trials
    return (await request(settings, 'GET', '/sweeps', { query })).length > 0;
  }

  private _release(): void {
    this._watching?.dispose();
    this._watching = null;
  }

  private _poll = new Poll({
    name: 'dtrain-lab:presence',
    factory: () => this._look(),
    frequency: { interval: LOOK_EVERY, backoff: true, max: 60_000 },
    standby: 'when-hidden'
  });
  private _watching: IDisposable | null = null;
}
