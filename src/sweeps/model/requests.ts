import { ServerConnection } from '@jupyterlab/services';
import { ISignal, Signal } from '@lumino/signaling';

import { request } from '../../request/rest';
import {
  ISweeps,
  Sweep,
  SweepPlan,
  UnreadableSweep,
  WantedSweep
} from '../../tokens';

/** Sweeps over REST. */
export class SweepRequests implements ISweeps {
  constructor(private _settings: ServerConnection.ISettings) {}

  all(): Promise<Sweep[]> {
    return request(this._settings, 'GET', 'sweeps');
  }

  unreadable(): Promise<UnreadableSweep[]> {
    return request(this._settings, 'GET', 'sweeps/unreadable');
  }

  get(id: string): Promise<Sweep> {
    return request(this._settings, 'GET', `sweeps/${id}`);
  }

  plan(wanted: WantedSweep, ask: boolean): Promise<SweepPlan> {
    const path = ask ? 'sweeps/plan?ask=1' : 'sweeps/plan';
    return request(this._settings, 'POST', path, wanted);
  }

  begin(wanted: WantedSweep): Promise<Sweep> {
    return request(this._settings, 'POST', 'sweeps', wanted);
  }

  stop(id: string): Promise<Sweep> {
    return request(this._settings, 'POST', `sweeps/${id}/stop`);
  }

  resume(id: string): Promise<Sweep> {
    return request(this._settings, 'POST', `sweeps/${id}/resume`);
  }

  async remove(id: string): Promise<Sweep> {
    const sweep = await request<Sweep>(
      this._settings,
      'DELETE',
      `sweeps/${id}`
    );
    this._removed.emit(id);
    return sweep;
  }

  get removed(): ISignal<this, string> {
    return this._removed;
  }

  private _removed = new Signal<this, string>(this);
}
