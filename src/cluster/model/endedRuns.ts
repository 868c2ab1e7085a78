import { Cluster, Endings } from '../../tokens';

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
    const known = AFTER.includes(state) ? !seen.has(id) : true;
    if (known && !BEFORE.includes(state)) {
      ran.add(id);
    }
    seen.add(id);
  }
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

function stopped(
  cluster: Cluster,
  at: number,
  ending: Cluster['summary'] = cluster.summary
): Cluster {
  const { values } = ending;
  const who = AFTER.includes(ending.code as Cluster['state']) ? values : {};
  const end = typeof who.at === 'number' ? who.at : at;
  return {
    ...cluster,
    state: 'stopped',
    ranks: [],
    running: [],
    may: [],
    lost: [],
    reason: null,
    ends_at: null,
    limit_at: null,
    metrics: { ...cluster.metrics, verdicts: [], advice: [] },
    summary: {
      code: 'stopped',
      values: { ...who, lasted_s: Math.max(0, end - cluster.created_at) },
      text: 'Stopped.'
    }
  };
}
