import { ServerConnection } from '@jupyterlab/services';
import { IDisposable } from '@lumino/disposable';
import { Poll } from '@lumino/polling';
import { ISignal, Signal } from '@lumino/signaling';

import { request, RequestError } from '../../request/rest';
import { CellRecord } from '../../tokens';

/** Interval of the requests, ms; it grows while they fail. */
const EVERY = 1000;

/** The records of cells that the heads of clusters have left at their ends. */
export class LeftRecords implements IDisposable {
  constructor(private _settings: ServerConnection.ISettings) {}

  /** Emitted when those of a cluster were read. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this._poll.isDisposed;
  }

  dispose(): void {
    this._poll.dispose();
    Signal.clearData(this);
  }

  /** Those of a cluster that has ended, empty if it has left none; undefined until they are read. */
  of(cluster: string): readonly CellRecord[] | undefined {
    const left = this._left.get(cluster);
    if (!left && !this._wanted.has(cluster)) {
      this._wanted.add(cluster);
      void this._poll.refresh();
    }
    return left;
  }

  /** Read at once what could not be read: there is a server again. */
  retry(): void {
    if (this._wanted.size) {
      void this._poll.refresh();
    }
  }

  /** Read what is wanted, also what is added meanwhile. */
  private async _read(): Promise<void> {
    const errors: unknown[] = [];
    for (const id of this._wanted) {
      try {
        this._left.set(id, await this._recordsOf(id));
      } catch (error) {
        errors.push(error); // those of other clusters are read nevertheless
        continue;
      }
      this._wanted.delete(id);
      this._changed.emit();
    }
    if (errors.length) {
      throw errors[0]; // the poll waits, and then reads again
    }
    void this._poll.stop();
  }

  private async _recordsOf(id: string): Promise<readonly CellRecord[]> {
    try {
      const path = '/clusters/{identity}/cells';
      const asked = { id, query: { last: 1 } };
      return await request(this._settings, 'GET', path, asked);
    } catch (error) {
      // any other error may pass, such as that of a proxy whose server starts
      if (error instanceof RequestError && error.status === 404) {
        return [];
      }
      throw error;
    }
  }

  private _changed = new Signal<this, void>(this);
  private _left = new Map<string, readonly CellRecord[]>();
  private _poll = new Poll({
    auto: false,
    name: 'dtrain-lab:left-cells',
    factory: () => this._read(),
    frequency: { interval: EVERY, backoff: true, max: 30_000 },
    standby: 'when-hidden'
  });
  /** Clusters of which they are still to be read. */
  private _wanted = new Set<string>();
}
