import { Cluster, IPoint, Rank } from '../../tokens';
import { ownTimes, usualOf } from '../../metrics/ownTime';
import { isSplitVague } from '../../metrics/split';

/** Metrics of a rank in the table; seconds, null if unknown, or too unsteady to tell. */
export interface IRankMetrics {
  rank: Rank;
  own: number | null;
  /** Own time relative to other ranks (`usualOf`): 0.1 is 10 % slower; null if unknown. */
  over: number | null;
  transfer: number | null;
  waiting: number | null;
}

const cache = new WeakMap<Cluster, IRankMetrics[]>();

/**
 * Own time, waiting and transfer of each rank, which add up to its step. Computed once per frame for all views.
 */
export function rankMetricsOf(cluster: Cluster): readonly IRankMetrics[] {
  const before = cache.get(cluster);
  if (before) {
    return before;
  }
  const { own, middle } = ownTimes(cluster.ranks);
  const rankMetrics = cluster.ranks.map((rank, i) => {
    const mine = Number.isNaN(own[i]) ? null : own[i];
    const usual = usualOf(own, i, middle);
    const vague = isSplitVague(rank);
    return {
      rank,
      // the head calls a rank slow only where it is sure of its own time
      own: vague && !rank.slow ? null : mine,
      over: mine !== null && usual ? mine / usual - 1 : null,
      waiting: vague ? null : rank.wait_s,
      transfer: vague ? null : rank.transfer_s
    };
  });
  cache.set(cluster, rankMetrics);
  return rankMetrics;
}

/** Whether a filter accepts a rank: "0-7", "0,3", a node's name, a device, or a state such as "slow". */
export function passes(filter: string, rank: Rank): boolean {
  const words = filter
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean);
  if (!words.length) {
    return true;
  }
  return words.some(word => {
    const span = /^(\d+)(?:[-–](\d+))?$/.exec(word);
    if (span) {
      const last = Number(span[2] ?? span[1]);
      return rank.rank >= Number(span[1]) && rank.rank <= last;
    }
    return (
      (word === 'slow' && rank.slow) ||
      rank.state.includes(word) ||
      rank.node.toLowerCase().includes(word) ||
      rank.device.includes(word)
    );
  });
}

/** Whether there is a network between the nodes of this world; otherwise they are one machine. */
export function hasNetwork(cluster: Cluster): boolean {
  return new Set(cluster.nodes.map(n => n.address)).size > 1;
}

/**
 * To go on without a lost rank may take two rebuilds, as it is replaced where higher ranks remain; they are shown as
 * one, like others that follow each other so soon. ms.
 */
const ONE_REBUILD = 10_000;

/** Times at which the world was rebuilt, ms. */
export function rebuilds(points: readonly IPoint[]): number[] {
  const all = points
    .filter((p, i) => i > 0 && p.generation !== points[i - 1].generation)
    .map(p => p.at);
  return all.filter((at, i) => !(all[i + 1] - at < ONE_REBUILD));
}
