import { ServerConnection } from '@jupyterlab/services';
import { JSONExt } from '@lumino/coreutils';
import { DisposableDelegate, IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import { Live } from '../../request/live';
import { request } from '../../request/rest';
import {
  ActiveSweeps,
  Point,
  Cluster,
  Endings,
  Frame,
  ILiveState,
  IPoint,
  IPreferences,
  ISite,
  Job,
  Link,
  Stopped,
  Verdict
} from '../../tokens';
import { IgnoredVerdicts, Store, withoutIgnored } from './ignoredVerdicts';
import { MetricsHistory } from './metricsHistory';
import { Presence } from './presence';

/** State of clusters and jobs from the server, without a DOM. */
export class LiveState implements ILiveState, IDisposable {
  readonly changed = new Signal<this, void>(this);

  /**
   * @param store - storage for ignored verdicts; null for none.
   */
  constructor(
    private _settings: ServerConnection.ISettings,
    private _preferences: IPreferences,
    private _site: ISite,
    store: Store | null
  ) {
    this._ignored = new IgnoredVerdicts(store);
  }

  get at(): number {
    return this._at;
  }

  get clusters(): readonly Cluster[] {
    return this._clusters;
  }

  get endings(): Endings {
    return this._endings;
  }

  get untold(): readonly Cluster[] {
    return this._untold;
  }

  get jobs(): readonly Job[] {
    return this._jobs;
  }

  get sweeps(): ActiveSweeps {
    return this._sweeps;
  }

  get link(): Link {
    return this._link;
  }

  get lastFrameAt(): Date | null {
    return this._lastFrameAt;
  }

  get retryAt(): number | null {
    return this._live?.retryAt ?? null;
  }

  get stopped(): Stopped | null {
    return this._live?.stopped ?? null;
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  history(id: string): readonly IPoint[] {
    return this._history.of(id);
  }

  get isKnown(): boolean {
    return this._isKnown;
  }

  /** Whether frames are requested. */
  get isLive(): boolean {
    return this._live !== null;
  }

  /** Find out from now on whether there is anything to watch, also while no view does. */
  start(): void {
    this._presence ??= new Presence(this, this._settings, () => {
      if (!this._isKnown) {
        this._isKnown = true;
        this._tell();
      }
    });
  }

  look(): void {
    this._presence?.look();
  }

  watch(): IDisposable {
    this._watchers++;
    if (!this._live) {
      this._connect();
    }
    return new DisposableDelegate(() => {
      this._watchers--;
      if (!this._watchers) {
        this._live?.dispose();
        this._live = null;
        // nobody tries any more: the server may be back
        this._link = this._link === 'lost' ? 'connecting' : this._link;
      }
    });
  }

  private _connect(): void {
    const live = (this._live = new Live(this._settings));
    this._lastFrameAt = null;
    live.frame.connect((_, frame) => this.receive(frame));
    live.link.connect((_, link) => this._setLink(link));
    void this._site.load();
  }

  reconnect(): void {
    this._live?.reconnect();
  }

  /** Handle a frame; frames that arrive sooner than the user's update period are skipped. */
  receive(sent: Frame): void {
    this._ignored.prune(sent.clusters);
    const whole = sent.clusters;
    const frame = { ...sent, clusters: whole.map(c => this._shown(c)) };
    const now = Date.now();
    // a server of an earlier version sends none
    const { jobs = [], sweeps = {} } = frame;
    const same =
      frame.clusters.length === this._clusters.length &&
      frame.clusters.every((c, i) => isSame(c, this._clusters[i])) &&
      jobs.length === this._jobs.length &&
      jobs.every((j, i) => isSameJob(j, this._jobs[i])) &&
      JSONExt.deepEqual(sweeps, this._sweeps);
    const early = now - (this._lastFrameAt?.getTime() ?? 0);
    // the server's ticks are not quite even: nine tenths of the period count as a period
    if (
      this._link === 'open' &&
      same &&
      early < 900 / this._preferences.values.updatesPerSecond
    ) {
      return;
    }
    this._link = 'open';
    this._isKnown = true;
    const before = this._whole;
    this._whole = whole;
    this._clusters = frame.clusters;
    this._endings = { ...this._endedWithServer(before), ...sent.ended };
    this._serverStoppedAt = null;
    if (sent.untold?.length) {
      this._untold = sent.untold; // only the first frame of a connection has them
    }
    this._jobs = jobs;
    this._sweeps = sweeps;
    this._lastFrameAt = new Date(now);
    for (const cluster of frame.clusters) {
      if (!this._history.has(cluster.id)) {
        void this._loadPast(cluster.id);
      }
      this._history.add(cluster);
    }
    this._history.prune(new Set(frame.clusters.map(c => c.id)));
    this._tell();
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    this._presence?.dispose();
    this._live?.dispose();
    Signal.clearData(this);
  }

  private _shown(cluster: Cluster): Cluster {
    return withoutIgnored(cluster, v => this._ignored.has(cluster, v));
  }

  private _showAgain(): void {
    this._clusters = this._whole.map(c => this._shown(c));
    this._tell();
  }

  /** History from before the page was opened. */
  private async _loadPast(id: string): Promise<void> {
    let past: readonly Point[];
    try {
      const query = { idle: '1' };
      const path = '/clusters/{identity}/history';
      past = await request(this._settings, 'GET', path, { id, query });
    } catch {
      // it has just ended, or the server is gone, which the panel shows
      return;
    }
    this._history.prepend(id, past);
    this._tell();
  }

  add(cluster: Cluster): void {
    if (!this._clusters.some(c => c.id === cluster.id)) {
      this._whole = [...this._whole, cluster];
      this._showAgain();
    }
  }

  ignore(id: string): void {
    const cluster = this._whole.find(c => c.id === id);
    if (cluster) {
      this._ignored.add(cluster);
      this._showAgain();
    }
  }

  showIgnored(id: string): void {
    this._ignored.remove(id);
    this._showAgain();
  }

  ignored(id: string): Verdict | null {
    const cluster = this._whole.find(c => c.id === id);
    return (
      cluster?.metrics.verdicts.find(v => this._ignored.has(cluster, v)) ?? null
    );
  }

  /** Ends of clusters that stopped with an earlier server, which could not tell them; others' are in the frame. */
  private _endedWithServer(clusters: readonly Cluster[]): Endings {
    const at = this._serverStoppedAt;
    const values = { by: 'shutdown', at };
    const ending = { code: 'stopping', values, text: 'Stopped.' };
    return at === null
      ? {}
      : Object.fromEntries(clusters.map(({ id }) => [id, ending]));
  }

  private _setLink(link: Link): void {
    if (link === 'lost' && this.stopped === 'with clusters') {
      this._serverStoppedAt ??= Date.now() / 1000;
    }
    const isBack = link === 'open' && this._link === 'lost';
    if (isBack && !this._site.facts) {
      void this._site.load();
    }
    if (!isBack) {
      this._link = link; // else its first frame follows: until then all that is shown is from before
    }
    this._tell();
  }

  private _tell(): void {
    this._at = Date.now();
    this.changed.emit();
  }

  private _at = Date.now();
  private _clusters: readonly Cluster[] = [];
  private _disposed = false;
  private _endings: Endings = {};
  private _ignored: IgnoredVerdicts;
  private _isKnown = false;
  private _jobs: readonly Job[] = [];
  private _history = new MetricsHistory();
  private _link: Link = 'connecting';
  private _live: Live | null = null;
  private _lastFrameAt: Date | null = null;
  private _presence: Presence | null = null;
  /** When the server that stopped its clusters was lost, seconds since 1970; null once another one answers. */
  private _serverStoppedAt: number | null = null;
  private _sweeps: ActiveSweeps = {};
  private _untold: readonly Cluster[] = [];
  /** Number of those who watch. */
  private _watchers = 0;
  /** Clusters with their ignored verdicts. */
  private _whole: readonly Cluster[] = [];
}

/** Whether only metrics differ, so that the frame may be skipped. */
function isSame(now: Cluster, before: Cluster | undefined): boolean {
  return (
    now.id === before?.id &&
    now.state === before.state &&
    now.summary.code === before.summary.code &&
    now.world.generation === before.world.generation &&
    now.running.length === before.running.length &&
    now.waiting.length === before.waiting.length
  );
}

function isSameJob(now: Job, before: Job | undefined): boolean {
  return (
    now.id === before?.id &&
    now.state === before.state &&
    now.summary.text === before.summary.text
  );
}
