import { ServerConnection } from '@jupyterlab/services';
import { IDisposable } from '@lumino/disposable';
import { Poll } from '@lumino/polling';
import { ISignal, Signal } from '@lumino/signaling';

import { LeftRecords } from '../../cluster/model/leftRecords';
import { request, RequestError } from '../../request/rest';
import { CellRecord, Cluster, ILiveState } from '../../tokens';
import { IClusterRecord, INotebook, IRun, isOf } from './storedRun';

/** Polling interval for a running cell, ms. */
const EVERY = 1000;

/** The last run of each cell, from the heads of all clusters. */
export class CellRecords implements IDisposable {
  constructor(
    private _model: ILiveState,
    private _settings: ServerConnection.ISettings
  ) {
    this._left = new LeftRecords(_settings);
    this._left.changed.connect(() => this._changed.emit());
    _model.changed.connect(this._look, this);
    this._look();
  }

  /** Emitted when records were read. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this._poll.isDisposed;
  }

  dispose(): void {
    this._model.changed.disconnect(this._look, this);
    this._hearing?.dispose();
    this._left.dispose();
    this._poll.dispose();
    Signal.clearData(this);
  }

  /** Start or stop waiting for the outcome of a cell. */
  want(who: object, wanted: boolean): void {
    if (wanted) {
      this._wanted.add(who);
      if (['stopped', 'constructed'].includes(this._poll.state.phase)) {
        void this._poll.start();
      }
    } else {
      this._wanted.delete(who);
    }
  }

  /** Read them now; if they are being read, once more, because the pending answer may be outdated. */
  refresh(): void {
    this._again = true;
    void this._poll.refresh();
  }

  /** The run that a message of this page has requested. */
  byRequest(id: string): IClusterRecord | null {
    return this._last(record => record.request === id);
  }

  /** Whether a living cluster has the record of a run, of this or any other notebook. */
  knows(run: string): boolean {
    return this._last(record => record.id === run) !== null;
  }

  /** How the cluster of a run has ended; null if that is not known, or it has not. */
  endingOf({ cluster }: IRun): Cluster['summary'] | null {
    return (cluster && this._model.endings[cluster]) || null;
  }

  /** Hear once how the cluster of a run has ended, also while there is nothing else to watch. */
  hearEnding({ cluster }: IRun): void {
    if (cluster && !this._heard.has(cluster)) {
      this._heard.add(cluster);
      this._hearing ??= this._model.watch();
      this.refresh();
    }
  }

  /**
   * The record of a run that the head of its cluster has left at its end; null if it has left none, undefined until
   * that is known.
   */
  leftRecord(run: IRun): CellRecord | null | undefined {
    const { cluster = '' } = run;
    const ending = this.endingOf(run);
    // a head that was killed has left nothing
    if (!ending || ending.values.by === 'killed') {
      return null;
    }
    const ends = this._model.clusters.some(c => c.id === cluster);
    const left = ends ? undefined : this._left.of(cluster);
    return left && (left.find(({ id }) => id === run.run) ?? null);
  }

  /** Whether a run of which nobody has left a record ended with its cluster, and not before, as far as anybody knows. */
  endedWithCluster(run: IRun, cell: string): boolean {
    const { by, running } = this.endingOf(run)?.values ?? {};
    const ran =
      by === 'killed' && (!Array.isArray(running) || running.includes(cell));
    return ran || this._cut.has(run.run);
  }

  /** Whether there is no connection to the server, so that nobody knows how clusters have ended meanwhile. */
  get isCut(): boolean {
    return this._model.link === 'lost';
  }

  /** The last run of a notebook's cell. */
  find(notebook: INotebook, cell: string): IClusterRecord | null {
    return this._last(
      record => record.cell_id === cell && isOf(record, notebook)
    );
  }

  /** Whether the cells of all living clusters were read, so that a run which is not among them has no record. */
  get isRead(): boolean {
    const { link, clusters } = this._model;
    return link === 'open' && clusters.every(c => this._records.has(c.id));
  }

  private _last(
    wanted: (record: CellRecord) => boolean
  ): IClusterRecord | null {
    let newest: IClusterRecord | null = null;
    const at = (f: IClusterRecord): number => f.record.started_at ?? Infinity;
    for (const cluster of this._model.clusters) {
      for (const record of this._records.get(cluster.id) ?? []) {
        if (wanted(record)) {
          const here = { record, cluster };
          newest = newest && at(newest) > at(here) ? newest : here;
        }
      }
    }
    return newest;
  }

  /** Poll if a cell or a cluster has ended or started, ranks were restarted, a verdict or the connection has changed. */
  private _look(): void {
    const records = JSON.stringify([
      ...this._model.clusters.map(c => [
        c.id,
        c.state,
        c.world.generation, // changes even if a restart starts and ends between two frames
        c.running.map(r => [r.cell_id, r.started_at]),
        c.metrics.verdicts.map(v => v.id)
      ]),
      Object.keys(this._model.endings),
      this.isCut,
      !!this._hearing && !!this._model.lastFrameAt
    ]);
    if (this._wasCut && !this.isCut) {
      this._left.retry();
    }
    this._wasCut = this.isCut;
    if (records !== this._lastRecords) {
      this._lastRecords = records;
      this.refresh();
    }
  }

  private async _readAll(): Promise<void> {
    do {
      this._again = false;
      await this._read();
      this._changed.emit();
    } while (this._again);
    if (this._model.lastFrameAt) {
      this._hearing?.dispose();
      this._hearing = null;
    }
    if (!this._wanted.size) {
      void this._poll.stop();
    }
  }

  private async _read(): Promise<void> {
    const alive = this._model.clusters.map(c => c.id);
    for (const [id, records] of this._records) {
      if (!alive.includes(id)) {
        const cut = records.filter(({ state }) => state !== 'ended');
        cut.forEach(record => this._cut.add(record.id));
        this._records.delete(id);
      }
    }
    await Promise.all(
      alive.map(async id => {
        try {
          const path = '/clusters/{identity}/cells';
          const asked = { id, query: { last: 1 } };
          const cells = await request(this._settings, 'GET', path, asked);
          this._records.set(id, cells);
        } catch (error) {
          if (!(error instanceof RequestError)) {
            throw error; // no server: known records are kept, and the request is retried
          }
          this._records.delete(id);
        }
      })
    );
  }

  private _again = false;
  private _changed = new Signal<this, void>(this);
  private _poll = new Poll({
    auto: false,
    name: 'dtrain-lab:cells',
    factory: () => this._readAll(),
    frequency: { interval: EVERY, backoff: true, max: 30_000 },
    standby: 'when-hidden'
  });
  /** Runs that had not ended when this page heard of their clusters last. */
  private _cut = new Set<string>();
  /** Clusters of whose ends this page has asked. */
  private _heard = new Set<string>();
  /** Keeps the connection until it has told of them. */
  private _hearing: IDisposable | null = null;
  private _left: LeftRecords;
  private _records = new Map<string, readonly CellRecord[]>();
  private _lastRecords = '';
  private _wanted = new Set<object>();
  private _wasCut = false;
}
