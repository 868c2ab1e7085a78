import { ServerConnection } from '@jupyterlab/services';
import { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import { Live } from '../../request/live';
import { request } from '../../request/rest';
import {
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

  get clusters(): readonly Cluster[] {
    return this._clusters;
  }

  get endings(): Endings {
    return this._endings;
  }

  get jobs(): readonly Job[] {
    return this._jobs;
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

  setVisible(visible: boolean, viewer: string): void {
    if (visible) {
      this._viewers.add(viewer);
    } else {
      this._viewers.delete(viewer);
    }
    if (this._viewers.size && !this._live) {
      const live = (this._live = new Live(this._settings));
      this._lastFrameAt = null;
      live.frame.connect((_, frame) => this.receive(frame));
      live.link.connect((_, link) => this._setLink(link));
      void this._site.load();
    } else if (!this._viewers.size) {
      this._live?.dispose();
      this._live = null;
      // nobody tries any more: the server may be back
      this._link = this._link === 'lost' ? 'connecting' : this._link;
    }
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
    const jobs = frame.jobs ?? [];
    const same =
      frame.clusters.length === this._clusters.length &&
      frame.clusters.every((c, i) => isSame(c, this._clusters[i])) &&
      jobs.length === this._jobs.length &&
      jobs.every((j, i) => isSameJob(j, this._jobs[i]));
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
    this._whole = whole;
    this._clusters = frame.clusters;
    this._endings = sent.ended ?? {};
    this._jobs = jobs;
    this._lastFrameAt = new Date();
    for (const cluster of frame.clusters) {
      if (!this._history.has(cluster.id)) {
        void this._loadPast(cluster.id);
      }
      this._history.add(cluster);
    }
    this._history.prune(new Set(frame.clusters.map(c => c.id)));
    this.changed.emit();
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    this._live?.dispose();
    Signal.clearData(this);
  }

  private _shown(cluster: Cluster): Cluster {
    return withoutIgnored(cluster, v => this._ignored.has(cluster, v));
  }

  private _showAgain(): void {
    this._clusters = this._whole.map(c => this._shown(c));
    this.changed.emit();
  }

  /** History from before the page was opened. */
  private async _loadPast(id: string): Promise<void> {
    let past: readonly Point[];
    try {
      const path = `clusters/${id}/history?idle=1`;
      past = await request(this._settings, 'GET', path);
    } catch {
      // it has just ended, or the server is gone, which the panel shows
      return;
    }
    this._history.prepend(id, past);
    this.changed.emit();
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

  private _setLink(link: Link): void {
    const isBack = link === 'open' && this._link === 'lost';
    if (isBack && !this._site.facts) {
      void this._site.load();
    }
    if (!isBack) {
      this._link = link; // else its first frame follows: until then all that is shown is from before
    }
    this.changed.emit();
  }

  private _clusters: readonly Cluster[] = [];
  private _disposed = false;
  private _endings: Endings = {};
  private _ignored: IgnoredVerdicts;
  private _jobs: readonly Job[] = [];
  private _history = new MetricsHistory();
  private _link: Link = 'connecting';
  private _live: Live | null = null;
  private _lastFrameAt: Date | null = null;
  private _viewers = new Set<string>();
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
    now.running.length === before.running.length
  );
}

function isSameJob(now: Job, before: Job | undefined): boolean {
  return (
    now.id === before?.id &&
    now.state === before.state &&
    now.summary.text === before.summary.text
  );
}
