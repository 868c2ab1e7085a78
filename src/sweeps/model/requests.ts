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
    return request(this._settings, 'GET', '/sweeps');
  }

  unreadable(): Promise<UnreadableSweep[]> {
    return request(this._settings, 'GET', '/sweeps/unreadable');
  }

  get(id: string): Promise<Sweep> {
    return request(this._settings, 'GET', '/sweeps/{identity}', { id });
  }

  plan(body: WantedSweep, ask: boolean): Promise<SweepPlan> {
    const query = ask ? { ask: '1' } : {};
    return request(this._settings, 'POST', '/sweeps/plan', { query, body });
  }

  begin(body: WantedSweep): Promise<Sweep> {
    return request(this._settings, 'POST', '/sweeps', { body });
  }

  stop(id: string): Promise<Sweep> {
    return request(this._settings, 'POST', '/sweeps/{identity}/stop', { id });
  }

  resume(id: string): Promise<Sweep> {
    const path = '/sweeps/{identity}/resume';
    return request(this._settings, 'POST', path, { id });
  }

  async remove(id: string): Promise<Sweep> {
    const path = '/sweeps/{identity}';
    const sweep = await request(this._settings, 'DELETE', path, { id });
    this._removed.emit(id);
    return sweep;
  }

  get removed(): ISignal<this, string> {
    return this._removed;
  }

  private _removed = new Signal<this, string>(this);
}
