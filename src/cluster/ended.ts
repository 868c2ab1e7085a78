import { Cluster } from '../tokens';

/** What a cluster was in, when it is no news that it ended. */
const NEVER_RAN: readonly Cluster['state'][] = [
  'pending',
  'starting',
  'connecting',
  'failed'
];

/**
 * Clusters that have ended while somebody looked, the latest last: the panel says how long they ran.
 *
 * @param ended known so far.
 * @param before clusters of the last frame.
 * @param now clusters of this one.
 * @param at when that is, seconds since 1970.
 */
export function stillEnded(
  ended: readonly Cluster[],
  before: readonly Cluster[],
  now: readonly Cluster[],
  at: number
): readonly Cluster[] {
  const alive = new Set(now.map(c => c.id));
  const names = new Set(now.map(c => c.name));
  const gone = before.filter(
    c => !alive.has(c.id) && !NEVER_RAN.includes(c.state)
  );
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
