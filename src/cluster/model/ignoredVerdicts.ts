import { Cluster, Verdict } from '../../tokens';
import { isHang } from '../../verdicts/verdict';

/** Storage key of the ignored episodes. */
const KEY = 'dtrain-lab:ignored';
/** Maximum number of stored episodes: clusters that this page does not see may still run. */
const MOST = 50;

/** Identification of an ignored verdict. */
interface IEpisode {
  cluster: string;
  episode: string;
}

/** The part of a browser's storage that is used. */
export type Store = Pick<Storage, 'getItem' | 'setItem'>;

/** This browser's storage; null if it is blocked, as in some embedded pages. */
export function storage(): Store | null {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}

/**
 * Key that distinguishes an episode from the next, and a verdict from its earlier versions.
 *
 * The number of a collective restarts with each run of a cell, so the key includes the run, but not texts
 * that count seconds.
 */
export function episodeOf(cluster: Cluster, verdict: Verdict): string {
  const { id, code, ranks, peers } = verdict;
  const held = new Set([...ranks, ...peers]);
  const runs = cluster.running
    .filter(cell => cell.ranks.some(rank => held.has(rank)))
    .map(cell => cell.started_at);
  const { generation } = cluster.world;
  return JSON.stringify([id, code, ranks, peers, generation, runs]);
}

/** Return a copy of a cluster without its ignored verdicts. */
export function withoutIgnored(
  cluster: Cluster,
  ignored: (verdict: Verdict) => boolean
): Cluster {
  const hidden = cluster.metrics.verdicts.filter(ignored);
  if (!hidden.length) {
    return cluster;
  }
  const verdicts = cluster.metrics.verdicts.filter(v => !hidden.includes(v));
  const headlined = hidden.some(v => v.code === cluster.summary.code);
  const calm = new Set(hidden.flatMap(v => v.ranks));
  return {
    ...cluster,
    metrics: { ...cluster.metrics, verdicts },
    summary: (headlined && cluster.summary_if_ignored) || cluster.summary,
    ranks: cluster.ranks.map(rank =>
      rank.state === 'stuck' && calm.has(rank.rank)
        ? { ...rank, state: 'busy' }
        : rank
    )
  };
}

/** Episodes that were ignored in this browser; each is forgotten when it ends or changes. */
export class IgnoredVerdicts {
  /**
   * @param _store - null: they last only as long as the page.
   */
  constructor(private _store: Store | null) {
    this._all = read(_store);
  }

  has(cluster: Cluster, verdict: Verdict): boolean {
    const episode = episodeOf(cluster, verdict);
    return this._all.some(
      known => known.cluster === cluster.id && known.episode === episode
    );
  }

  /** Ignore what holds a cluster up now. */
  add(cluster: Cluster): void {
    const added = cluster.metrics.verdicts
      .filter(verdict => isHang(verdict) && !this.has(cluster, verdict))
      .map(verdict => ({
        cluster: cluster.id,
        episode: episodeOf(cluster, verdict)
      }));
    this._set([...this._all, ...added].slice(-MOST));
  }

  /** Show the ignored verdicts of a cluster again. */
  remove(id: string): void {
    this._set(this._all.filter(known => known.cluster !== id));
  }

  /** Forget episodes of these clusters that have ended or changed; others are unknown. */
  prune(clusters: readonly Cluster[]): void {
    if (!this._all.length) {
      return;
    }
    const lasting = this._all.filter(({ cluster: id, episode }) => {
      const cluster = clusters.find(c => c.id === id);
      return (
        !cluster ||
        cluster.metrics.verdicts.some(v => episodeOf(cluster, v) === episode)
      );
    });
    if (lasting.length !== this._all.length) {
      this._set(lasting);
    }
  }

  private _set(all: readonly IEpisode[]): void {
    this._all = all;
    try {
      this._store?.setItem(KEY, JSON.stringify(all));
    } catch {
      // the storage is full: they last only as long as the page
    }
  }

  private _all: readonly IEpisode[];
}

/** Episodes stored by an earlier page of this browser; invalid data is ignored. */
function read(store: Store | null): readonly IEpisode[] {
  const text = store?.getItem(KEY);
  if (!text) {
    return [];
  }
  try {
    const stored: unknown = JSON.parse(text);
    return Array.isArray(stored) ? stored.filter(isEpisode) : [];
  } catch {
    return [];
  }
}

function isEpisode(value: unknown): value is IEpisode {
  const { cluster, episode } = (value ?? {}) as Partial<IEpisode>;
  return typeof cluster === 'string' && typeof episode === 'string';
}
