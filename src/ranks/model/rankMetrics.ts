import { Cluster, IPoint, Rank } from '../../tokens';
import { ownTimes, shownOver, usualOf } from '../../ui/metrics/ownTime';
import { waitingOf } from '../../ui/metrics/split';

/** Metrics of a rank in the table; seconds, null if unknown. */
export interface IRankMetrics {
  rank: Rank;
  own: number | null;
  /** Own time relative to other ranks (`usualOf`): 0.1 is 10 % slower; null if unknown. */
  over: number | null;
  transfer: number | null;
  waiting: number | null;
}

const known = new WeakMap<Cluster, IRankMetrics[]>();

/**
 * own = step × (1 − overhead), waiting = wait, transfer = the rest. Computed once per frame for all views.
 */
export function rankMetricsOf(cluster: Cluster): readonly IRankMetrics[] {
  const before = known.get(cluster);
  if (before) {
    return before;
  }
  const { own, middle } = ownTimes(cluster.ranks);
  const rankMetrics = cluster.ranks.map((rank, i) => {
    const mine = Number.isNaN(own[i]) ? null : own[i];
    const usual = usualOf(own, i, middle);
    const shared = rank.step_s === null ? null : (rank.comm_overhead ?? null);
    const communication =
      shared === null || rank.step_s === null ? null : shared * rank.step_s;
    const waiting = communication === null ? null : (waitingOf(rank) ?? 0);
    return {
      rank,
      own: mine,
      over: mine !== null && usual ? mine / usual - 1 : null,
      waiting,
      transfer: communication === null ? null : communication - waiting!
    };
  });
  known.set(cluster, rankMetrics);
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

/** A heat map: one row per rank, or the slowest rank per node if there are too many. */
export interface IHeat {
  rows: { label: string; group: string; ranks: readonly number[] }[];
  /** Row × column: displayed own time relative to other ranks (`usualOf`); NaN if unknown. */
  cells: Float32Array;
  columns: number;
}

/** Maximum number of consecutive columns without a point that are not a gap: points are irregular. */
const MOST_GAP = 2;

/** Maximum number of rows of a heat map; above that, one row per node. */
export const MOST_HEAT_ROWS = 128;

/**
 * Own time of ranks over time, relative to the others at that time.
 *
 * Columns divide the time from `from` to `to`, ms, so that the map is aligned with the charts above, to within a
 * column: they begin at multiples of their width. Anchored to the moving `from`, points would change columns as
 * time passes, and past columns their colours.
 */
export function heatOf(
  cluster: Cluster,
  points: readonly IPoint[],
  shown: readonly number[],
  columns: number,
  from: number,
  to: number
): IHeat {
  const rows =
    shown.length <= MOST_HEAT_ROWS
      ? shown.map(r => ({
          label: `${r}`,
          group: cluster.ranks[r]?.node ?? '',
          ranks: [r]
        }))
      : byNode(cluster, shown);
  const cells = new Float32Array(rows.length * columns).fill(NaN);
  const latest = new Map<number, IPoint>();
  const width = (to - from) / columns;
  const first = Math.ceil(to / width) - columns;
  for (const point of points) {
    const column = Math.floor(point.at / width) - first;
    if (column >= 0 && point.at <= to) {
      latest.set(Math.min(column, columns - 1), point);
    }
  }
  for (const [column, point] of bridged(latest)) {
    rows.forEach((row, i) => {
      cells[i * columns + column] = slowestOf(point, row.ranks);
    });
  }
  return { rows, cells, columns };
}

/** Fill short gaps between points with the previous value. */
function bridged(known: ReadonlyMap<number, IPoint>): Map<number, IPoint> {
  const all = new Map(known);
  const columns = [...known.keys()].sort((a, b) => a - b);
  columns.slice(1).forEach((next, i) => {
    if (next - columns[i] <= MOST_GAP + 1) {
      for (let column = columns[i] + 1; column < next; column++) {
        all.set(column, known.get(columns[i])!);
      }
    }
  });
  return all;
}

function slowestOf(point: IPoint, ranks: readonly number[]): number {
  const { own, middle, unsure, slow } = point;
  let most = NaN;
  for (const rank of middle ? ranks : []) {
    const over = shownOver(
      own[rank] / usualOf(own, rank, middle)! - 1,
      unsure,
      slow && slow.includes(rank)
    );
    if (!Number.isNaN(over) && !(over <= most)) {
      most = over;
    }
  }
  return most;
}

function byNode(
  cluster: Cluster,
  shown: readonly number[]
): { label: string; group: string; ranks: number[] }[] {
  const nodes = new Map<string, number[]>();
  for (const rank of shown) {
    const node = cluster.ranks[rank].node;
    nodes.set(node, [...(nodes.get(node) ?? []), rank]);
  }
  return [...nodes].map(([label, ranks]) => ({ label, group: label, ranks }));
}

/** Times at which the world was rebuilt, ms. */
export function rebuilds(points: readonly IPoint[]): number[] {
  return points
    .filter((p, i) => i > 0 && p.generation !== points[i - 1].generation)
    .map(p => p.at);
}
