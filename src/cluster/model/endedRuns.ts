import { Cluster } from '../../tokens';

/** States of a cluster that has not run yet. */
const BEFORE: readonly Cluster['state'][] = [
  'pending',
  'starting',
  'connecting',
  'failed'
];
/** States at its end, which do not tell whether it ran. */
const AFTER: readonly Cluster['state'][] = ['stopping', 'stopped'];

/**
 * Note which clusters have run: the end of a start that was cancelled is no news.
 *
 * @param ran - ids of those that did.
 * @param seen - ids of all that this page has seen.
 */
export function noteRuns(
  ran: Set<string>,
  seen: Set<string>,
  clusters: readonly Cluster[]
): void {
  for (const { id, state } of clusters) {
    // one that ends when the page is opened has run, as far as is known
    const known = AFTER.includes(state) ? !seen.has(id) : true;
    if (known && !BEFORE.includes(state)) {
      ran.add(id);
    }
    seen.add(id);
  }
}

/**
 * Clusters that have ended while somebody looked, the latest last: the panel says how long they ran.
 *
 * @param ended known so far.
 * @param before clusters of the last frame.
 * @param now clusters of this one.
 * @param at when that is, seconds since 1970.
 * @param ran ids of clusters that have run.
 */
export function stillEnded(
  ended: readonly Cluster[],
  before: readonly Cluster[],
  now: readonly Cluster[],
  at: number,
  ran: ReadonlySet<string>
): readonly Cluster[] {
  const alive = new Set(now.map(c => c.id));
  const names = new Set(now.map(c => c.name));
  const gone = before.filter(c => !alive.has(c.id) && ran.has(c.id));
  if (!gone.length && !ended.some(c => names.has(c.name))) {
    return ended;
  }
  return [...ended, ...gone.map(c => stopped(c, at))].filter(
    (c, i, all) =>
      !names.has(c.name) && !all.slice(i + 1).some(d => d.name === c.name)
  );
}

function stopped(cluster: Cluster, at: number): Cluster {
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
      values: { lasted_s: Math.max(0, at - cluster.created_at) },
      text: 'Stopped.'
    }
  };
}
