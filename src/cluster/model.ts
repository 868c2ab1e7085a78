import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import { Live } from '../request/live';
import { request } from '../request/rest';
import {
  Diagnosis,
  Point,
  CellRecord,
  Cluster,
  Frame,
  IClusters,
  IPoint,
  IPreferences,
  Job,
  Link,
  Profile,
  Site,
  StartRequest
} from '../tokens';
import { median, networkOf, ownTimes, slowed } from '../ranks/figures';
import { meanSplit } from '../ui/split';

/** Points kept of each cluster, an hour of them; fewer where each has the times of more than 64 ranks. */
export const HISTORY = 2400;
const HISTORY_LARGE = 600;
const HOUR_MS = 3_600_000;

/** As the settings' schema has them. */
export const DEFAULT_PREFERENCES: IPreferences = {
  slowFrom: 0.1,
  updatesPerSecond: 2,
  notify: ['trouble', 'cells'],
  notifyCellsAfter: 60
};

/** State of the panel, without a DOM. */
export class ClustersModel implements IClusters, IDisposable {
  readonly changed = new Signal<this, void>(this);
  kernel: string | null = null;
  notebook: string | null = null;
  preferences: IPreferences = DEFAULT_PREFERENCES;

  get kernelLacks(): boolean {
    return this._kernelLacks;
  }

  set kernelLacks(lacks: boolean) {
    if (lacks !== this._kernelLacks) {
      this._kernelLacks = lacks;
      this.changed.emit();
    }
  }

  constructor(private _settings: ServerConnection.ISettings) {}

  get clusters(): readonly Cluster[] {
    return this._clusters;
  }

  get jobs(): readonly Job[] {
    return this._jobs;
  }

  get site(): Site | null {
    return this._site;
  }

  get profiles(): readonly Profile[] {
    return this._profiles;
  }

  get link(): Link {
    return this._link;
  }

  get seen(): Date | null {
    return this._seen;
  }

  get retryAt(): number | null {
    return this._live?.retryAt ?? null;
  }

  get selected(): Cluster | null {
    return (
      this._clusters.find(c => c.id === this._selected) ??
      this._clusters[this._clusters.length - 1] ??
      null
    );
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  history(id: string): readonly IPoint[] {
    return this._history.get(id) ?? [];
  }

  get selectedRank(): number | null {
    return this._selectedRank;
  }

  selectRank(rank: number | null): void {
    this._selectedRank = rank;
    this.changed.emit();
  }

  select(id: string): void {
    this._selected = id;
    this.changed.emit();
  }

  setVisible(visible: boolean, viewer: string): void {
    if (visible) {
      this._viewers.add(viewer);
    } else {
      this._viewers.delete(viewer);
    }
    if (this._viewers.size && !this._live) {
      const live = (this._live = new Live(this._settings));
      this._seen = null;
      live.frame.connect((_, frame) => this.receive(frame));
      live.link.connect((_, link) => this._setLink(link));
      void this._loadSite();
    } else if (!this._viewers.size) {
      this._live?.dispose();
      this._live = null;
    }
  }

  reconnect(): void {
    this._live?.reconnect();
  }

  /** Take a frame; one that comes sooner than the user wants updates is left out. */
  receive(frame: Frame): void {
    const now = Date.now();
    // a server of an earlier version sends none
    const jobs = frame.jobs ?? [];
    const same =
      frame.clusters.length === this._clusters.length &&
      frame.clusters.every((c, i) => isSame(c, this._clusters[i])) &&
      jobs.length === this._jobs.length &&
      jobs.every((j, i) => isSameJob(j, this._jobs[i]));
    const early = now - (this._seen?.getTime() ?? 0);
    // the server's ticks are not quite even: nine tenths of the period are a period
    if (same && early < 900 / this.preferences.updatesPerSecond) {
      return;
    }
    this._link = 'open';
    this._clusters = frame.clusters;
    this._jobs = jobs;
    this._seen = new Date();
    const alive = new Set(frame.clusters.map(c => c.id));
    for (const id of this._history.keys()) {
      if (!alive.has(id)) {
        this._history.delete(id);
        this._late.delete(id);
      }
    }
    for (const cluster of frame.clusters) {
      const known = this._history.get(cluster.id);
      const points = known ?? [];
      if (!known) {
        void this._loadPast(cluster.id);
      }
      const late = this._late.get(cluster.id) ?? new Map<number, number>();
      this._late.set(cluster.id, late);
      points.push(pointOf(cluster, late, this.preferences.slowFrom));
      const most = cluster.ranks.length > 64 ? HISTORY_LARGE : HISTORY;
      this._history.set(
        cluster.id,
        points.length > most ? thinned(points, most) : points
      );
    }
    this.changed.emit();
  }

  async start(body: Partial<StartRequest>): Promise<Cluster> {
    const cluster = await request<Cluster>(
      this._settings,
      'POST',
      'clusters',
      body
    );
    this._selected = cluster.id;
    if (!this._clusters.some(c => c.id === cluster.id)) {
      this._clusters = [...this._clusters, cluster];
    }
    this.changed.emit();
    return cluster;
  }

  async stop(id: string): Promise<void> {
    await request(this._settings, 'DELETE', `clusters/${id}`);
  }

  async interrupt(id: string): Promise<void> {
    await request(this._settings, 'POST', `clusters/${id}/interrupt`, {});
  }

  async restart(id: string, ranks: number[] | null): Promise<void> {
    const path = `clusters/${id}/restart`;
    await request(this._settings, 'POST', path, { ranks });
  }

  async resize(id: string, ranks: number): Promise<void> {
    await request(this._settings, 'POST', `clusters/${id}/resize`, { ranks });
  }

  async stacks(id: string): Promise<{ rank: number; text: string | null }[]> {
    return request(this._settings, 'GET', `clusters/${id}/stacks`);
  }

  async diagnose(id: string): Promise<Diagnosis> {
    return request(this._settings, 'POST', `clusters/${id}/diagnose`, {});
  }

  exportUrl(id: string, format: 'csv' | 'json' | 'tensorboard'): string {
    const { baseUrl, token, appendToken } = this._settings;
    const path = `dtrain-lab/clusters/${id}/history`;
    const query = appendToken && token ? { format, token } : { format };
    return (
      URLExt.join(baseUrl, path) +
      URLExt.objectToQueryString(query as Record<string, string>)
    );
  }

  async cells(id: string): Promise<readonly CellRecord[]> {
    return request(this._settings, 'GET', `clusters/${id}/cells`);
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    this._live?.dispose();
    Signal.clearData(this);
  }

  /** What the head kept from before this page looked. */
  private async _loadPast(id: string): Promise<void> {
    let past: readonly Point[];
    try {
      past = await request(this._settings, 'GET', `clusters/${id}/history`);
    } catch {
      // it has just ended, or the server is gone: the panel says so itself
      return;
    }
    const points = this._history.get(id);
    const first = points?.[0]?.at ?? Date.now();
    points?.unshift(
      ...past.filter(p => p.at * 1000 < first).map(p => pastPoint(p))
    );
    this.changed.emit();
  }

  private async _loadSite(): Promise<void> {
    try {
      const [site, profiles] = await Promise.all([
        request<Site>(this._settings, 'GET', 'site'),
        request<Profile[]>(this._settings, 'GET', 'profiles')
      ]);
      this._site = site;
      this._profiles = profiles;
      this.changed.emit();
    } catch (error) {
      // without a server the panel says so itself; anything else is ours to mend
      if (!(error instanceof ServerConnection.NetworkError)) {
        throw error;
      }
    }
  }

  private _setLink(link: Link): void {
    const before = this._link;
    this._link = link;
    if (link === 'open' && before === 'lost' && !this._site) {
      void this._loadSite();
    }
    this.changed.emit();
  }

  private _clusters: readonly Cluster[] = [];
  private _disposed = false;
  private _jobs: readonly Job[] = [];
  private _kernelLacks = false;
  /** Of each cluster, for how many points in a row a rank has been slow. */
  private _late = new Map<string, Map<number, number>>();
  private _history = new Map<string, IPoint[]>();
  private _link: Link = 'connecting';
  private _live: Live | null = null;
  private _profiles: readonly Profile[] = [];
  private _seen: Date | null = null;
  private _selected: string | null = null;
  private _selectedRank: number | null = null;
  private _site: Site | null = null;
  private _viewers = new Set<string>();
}

/** Only figures differ: such a frame may be left out. */
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

/**
 * An hour of points, at most so many: the latest quarter as they are, the older ones as far apart as an hour of
 * them needs. What is marked in the charts stays.
 */
export function thinned(points: IPoint[], most: number): IPoint[] {
  const oldest = points[points.length - 1].at - HOUR_MS;
  const recent = points.length - Math.floor(most / 4);
  const apart = HOUR_MS / (most * 0.7);
  let last = -Infinity;
  const kept = points.filter((point, i) => {
    const marked =
      point.slowed.length > 0 ||
      (i > 0 && point.generation !== points[i - 1].generation);
    const keep =
      point.at >= oldest && (i >= recent || marked || point.at - last >= apart);
    if (keep) {
      last = point.at;
    }
    return keep;
  });
  return kept.slice(-most);
}

/** A number, where it is one: NaN and infinity travel as words. */
function numbers(values: Record<string, unknown>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(values).filter(
      (entry): entry is [string, number] => typeof entry[1] === 'number'
    )
  );
}

function pastPoint(point: Point): IPoint {
  const { step_s, wait_s, comm_overhead, samples_per_s } = point;
  return {
    at: (point.at as number) * 1000,
    samples: samples_per_s ?? null,
    overhead: comm_overhead ?? null,
    waiting:
      step_s && wait_s !== null && wait_s !== undefined
        ? wait_s / step_s
        : null,
    generation: point.generation ?? 0,
    own: new Float32Array(0),
    middle: null,
    slowed: [],
    memory: point.memory_bytes ?? null,
    network: point.network_bytes_per_s ?? null,
    networkMiddle: null,
    values: numbers(point.values ?? {})
  };
}

function pointOf(
  cluster: Cluster,
  late: Map<number, number>,
  slowFrom: number
): IPoint {
  const { samples_per_s, comm_overhead } = cluster.metrics;
  const times = ownTimes(cluster.ranks);
  const traffic = cluster.nodes.map(networkOf).filter(n => n !== null);
  const own = new Float32Array(times.own);
  const { middle } = times;
  return {
    at: Date.now(),
    samples: samples_per_s,
    overhead: comm_overhead,
    waiting: meanSplit(cluster.ranks)?.waiting ?? null,
    generation: cluster.world.generation,
    own,
    middle,
    slowed: middle ? slowed(own, middle * (1 + slowFrom), late) : [],
    memory: cluster.ranks.reduce<number | null>((most, rank) => {
      const bytes = rank.device_memory_bytes ?? rank.memory_bytes;
      return bytes === null ? most : Math.max(most ?? 0, bytes);
    }, null),
    network: traffic.length ? Math.max(...traffic) : null,
    networkMiddle: traffic.length > 1 ? median(traffic) : null,
    values: numbers(cluster.metrics.values)
  };
}
