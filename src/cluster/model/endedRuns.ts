import { Cluster, Endings } from '../../tokens';
import { Store } from './ignoredVerdicts';

/** States of a cluster that has not run yet. */
const BEFORE: readonly Cluster['state'][] = [
  'pending',
  'starting',
  'connecting',
  'failed'
];
/** States at the end of a cluster, which do not show whether it ran. */
const AFTER: readonly Cluster['state'][] = ['stopping', 'stopped'];

/** Maximum number of ended clusters that the panel offers to start again. */
const MOST = 5;

/**
 * Note which clusters have run: the end of a cancelled start is not reported.
 *
 * @param ran - ids of clusters that have run.
 * @param seen - ids of all clusters that this page has seen.
 */
export function noteRuns(
  ran: Set<string>,
  seen: Set<string>,
  clusters: readonly Cluster[]
): void {
  for (const { id, state } of clusters) {
    // a cluster that is ending when the page is opened is assumed to have run
    const isOver = AFTER.includes(state) ? !seen.has(id) : true;
    if (isOver && !BEFORE.includes(state)) {
      ran.add(id);
    }
    seen.add(id);
  }
}

/** Forget clusters that are gone, in what `noteRuns` has noted. */
export function forgetRuns(
  noted: Set<string>,
  clusters: readonly Cluster[]
): void {
  const present = new Set(clusters.map(c => c.id));
  noted.forEach(id => present.has(id) || noted.delete(id));
}

/**
 * Clusters that have ended while the page was open, the latest last: the panel says how long they ran.
 *
 * @param ended known so far.
 * @param before clusters of the last frame.
 * @param now clusters of this one.
 * @param at current time, seconds since 1970.
 * @param ran ids of clusters that have run.
 * @param endings who has stopped which of them, and when, by id.
 */
export function stillEnded(
  ended: readonly Cluster[],
  before: readonly Cluster[],
  now: readonly Cluster[],
  at: number,
  ran: ReadonlySet<string>,
  endings: Endings = {}
): readonly Cluster[] {
  const alive = new Set(now.map(c => c.id));
  const names = new Set(now.map(c => c.name));
  const gone = before.filter(c => !alive.has(c.id) && ran.has(c.id));
  if (!gone.length && !ended.some(c => names.has(c.name))) {
    return ended;
  }
  return [...ended, ...gone.map(c => stopped(c, at, endings[c.id]))]
    .filter(
      (c, i, all) =>
        !names.has(c.name) && !all.slice(i + 1).some(d => d.name === c.name)
    )
    .slice(-MOST);
}

/**
 * Whether a cluster has started after one that had ended when this page was loaded; the page has seen neither start nor
 * end. Any cluster has started after others, which the page knew.
 */
export function startedAfter(
  restored: readonly Cluster[],
  id: string | null
): (cluster: Cluster) => boolean {
  const before = restored.find(c => c.id === id);
  const lasted = Number(before?.summary.values.lasted_s);
  return cluster =>
    !before || !(cluster.created_at < before.created_at + lasted);
}

/** A cluster that has ended while no page was open, from its last state: the panel tells of it as of others. */
export function endedUnseen(cluster: Cluster): Cluster {
  return stopped(cluster, null);
}

/** A cluster that has just ended, as its server tells of its end. */
export function endedNow(
  cluster: Cluster,
  ending: Cluster['summary']
): Cluster {
  return stopped(cluster, null, ending);
}

/** Why a cluster has ended, if it was not stopped; other reasons are of a state that is over. */
function reasonOfEnd({ state, reason }: Cluster): Cluster['reason'] {
  return state === 'failed' || reason?.code === 'ended' ? reason : null;
}

function stopped(
  cluster: Cluster,
  at: number | null,
  ending: Cluster['summary'] = cluster.summary
): Cluster {
  const { values } = ending;
  const who = AFTER.includes(ending.code as Cluster['state']) ? values : {};
  const end = typeof who.at === 'number' ? who.at : at;
  // nobody knows when one ended that a server found gone as it started
  const lasted =
    end === null ? {} : { lasted_s: Math.max(0, end - cluster.created_at) };
  return {
    ...cluster,
    state: 'stopped',
    ranks: [],
    running: [],
    waiting: [],
    may: [],
    lost: [],
    reason: reasonOfEnd(cluster),
    ends_at: null,
    limit_at: null,
    metrics: { ...cluster.metrics, verdicts: [], advice: [] },
    // how long one ran that has failed is not known: its head stays for a while to tell why
    summary:
      cluster.state === 'failed'
        ? cluster.summary
        : {
            code: 'stopped',
            values: { ...who, ...lasted },
            text: ending.text
          }
  };
}

/** Storage key of the clusters that have ended, before the address of their server. */
const KEY = 'dtrain-lab:ended';

/** Maximum number of clusters of which it is kept that their end was told. */
const MOST_TOLD = 20;

/** Clusters that have ended, and the one of them that the panel shows. */
export interface IEndedClusters {
  clusters: readonly Cluster[];
  shown: string | null;
  /** Ids of clusters that ended while no page was open, and of which a page of this browser has told. */
  told?: readonly string[];
}

/**
 * Keeps clusters that have ended by themselves in this browser, so that a reloaded page tells of them, too: the server
 * lists only those that run, and their heads are gone. Somebody who has stopped a cluster knows of its end.
 */
export class EndedStore {
  /**
   * @param _store - storage of this browser; null for none.
   * @param server - address of the server: others in the same browser have clusters of their own.
   */
  constructor(
    private _store: Store | null,
    server: string
  ) {
    this._key = `${KEY} ${server}`;
  }

  /** What was kept; nothing if it can't be read, as that of another version. */
  load(): IEndedClusters {
    try {
      const kept = JSON.parse(
        this._store?.getItem(this._key) ?? 'null'
      ) as IEndedClusters | null;
      if (kept?.clusters.every(c => c.id && c.summary.code)) {
        return kept;
      }
    } catch {
      // written by another version, or the storage is blocked
    }
    return { clusters: [], shown: null };
  }

  /** Keep these clusters, without those that somebody has stopped. */
  save(ended: IEndedClusters): void {
    const clusters = ended.clusters.filter(endedByItself);
    const told = ended.told?.slice(-MOST_TOLD);
    const text = JSON.stringify({ ...ended, clusters, told });
    if (text !== this._saved) {
      this._saved = text;
      try {
        this._store?.setItem(this._key, text);
      } catch {
        // the storage is full: a reloaded page shows none
      }
    }
  }

  private _key: string;
  private _saved = '';
}

/** Whether nobody has stopped a cluster: it failed, was lost, reached its limit, or ended with its server. */
function endedByItself({ summary }: Cluster): boolean {
  const { by } = summary.values;
  return (
    !by ||
    ['idle', 'killed', 'unknown', 'away', 'shutdown'].includes(String(by))
  );
}
