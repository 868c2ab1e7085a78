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
import { Stopping } from './stopping';

/** Sweeps over REST. */
export class SweepRequests implements ISweeps {
  constructor(private _settings: ServerConnection.ISettings) {}

  async all(): Promise<Sweep[]> {
    const sweeps = await request(this._settings, 'GET', '/sweeps');
    this._lastAnswer = sweeps;
    this._tell(sweeps);
    return sweeps;
  }

  get lastAnswer(): readonly Sweep[] {
    return this._lastAnswer;
  }

  get known(): readonly Sweep[] {
    return [...this._known.values()];
  }

  unreadable(): Promise<UnreadableSweep[]> {
    return request(this._settings, 'GET', '/sweeps/unreadable');
  }

  get(id: string): Promise<Sweep> {
    return this._told(
      request(this._settings, 'GET', '/sweeps/{identity}', { id })
    );
  }

  plan(body: WantedSweep, ask: boolean): Promise<SweepPlan> {
    const query = ask ? { ask: '1' } : {};
    return request(this._settings, 'POST', '/sweeps/plan', { query, body });
  }

  begin(body: WantedSweep): Promise<Sweep> {
    return this._told(request(this._settings, 'POST', '/sweeps', { body }));
  }

  stop(id: string): Promise<Sweep> {
    const path = '/sweeps/{identity}/stop';
    return this._told(request(this._settings, 'POST', path, { id }), true);
  }

  resume(id: string): Promise<Sweep> {
    const path = '/sweeps/{identity}/resume';
    return this._told(request(this._settings, 'POST', path, { id }));
  }

  async remove(id: string): Promise<Sweep> {
    const path = '/sweeps/{identity}';
    const sweep = await request(this._settings, 'DELETE', path, { id });
    this._stopping.forget(id);
    this._known.delete(id);
    this._removed.emit(id);
    return sweep;
  }

  get removed(): ISignal<this, string> {
    return this._removed;
  }

  get seen(): ISignal<this, readonly Sweep[]> {
    return this._seen;
  }

  get stopping(): readonly Sweep[] {
    return this._stopping.sweeps;
  }

  private async _told(answer: Promise<Sweep>, stops = false): Promise<Sweep> {
    const sweep = await answer;
    this._tell([sweep], stops);
    return sweep;
  }

  private _tell(sweeps: readonly Sweep[], stops = false): void {
    for (const sweep of sweeps) {
      this._known.set(sweep.id, sweep);
    }
    this._stopping.take(sweeps, stops);
    this._seen.emit(sweeps);
  }

  private _known = new Map<string, Sweep>();
  private _lastAnswer: readonly Sweep[] = [];
  private _stopping = new Stopping(id => this.get(id));
  private _seen = new Signal<this, readonly Sweep[]>(this);
  private _removed = new Signal<this, string>(this);
}
