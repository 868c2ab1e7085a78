import { Cluster, IPoint, Node, Rank } from '../tokens';

/** What the table shows of a rank; seconds, null where not known. */
export interface IRankFigures {
  rank: Rank;
  own: number | null;
  /** Own time against the median of all ranks: 0.1 is 10 % slower; null where not known. */
  over: number | null;
  transfer: number | null;
  waiting: number | null;
}

/** The median; null of nothing. */
export function median(values: ArrayLike<number>): number | null {
  // of typed arrays, sort compares numbers by itself: tenfold faster
  return middleOf(Float64Array.from(values).sort());
}

function middleOf(sorted: Float64Array): number | null {
  if (!sorted.length) {
    return null;
  }
  const half = sorted.length >> 1;
  return sorted.length % 2
    ? sorted[half]
    : (sorted[half - 1] + sorted[half]) / 2;
}

/** Own time of each rank, s, NaN where not known; and the median of what is known. */
interface IOwnTimes {
  own: Float64Array;
  middle: number | null;
}

const owned = new WeakMap<readonly Rank[], IOwnTimes>();

/** Worked out once a frame for all views. */
export function ownTimes(ranks: readonly Rank[]): IOwnTimes {
  const before = owned.get(ranks);
  if (before) {
    return before;
  }
  const own = new Float64Array(ranks.length);
  let count = 0;
  for (let i = 0; i < own.length; i++) {
    const { step_s, comm_overhead } = ranks[i];
    own[i] = step_s === null ? NaN : step_s * (1 - (comm_overhead ?? 0));
    count += step_s === null ? 0 : 1;
  }
  // sorted, NaN comes last
  const sorted = own.slice().sort().subarray(0, count);
  const times = { own, middle: middleOf(sorted) };
  owned.set(ranks, times);
  return times;
}

const known = new WeakMap<Cluster, IRankFigures[]>();

/** own = step × (1 − overhead), waiting = wait, transfer = the rest. Worked out once a frame for all views. */
export function figuresOf(cluster: Cluster): readonly IRankFigures[] {
  const before = known.get(cluster);
  if (before) {
    return before;
  }
  const { own, middle } = ownTimes(cluster.ranks);
  const figures = cluster.ranks.map((rank, i) => {
    const mine = Number.isNaN(own[i]) ? null : own[i];
    const shared = rank.step_s === null ? null : (rank.comm_overhead ?? null);
    const communication =
      shared === null || rank.step_s === null ? null : shared * rank.step_s;
    const waiting =
      communication === null ? null : Math.min(communication, rank.wait_s ?? 0);
    return {
      rank,
      own: mine,
      over: mine !== null && middle ? mine / middle - 1 : null,
      waiting,
      transfer: communication === null ? null : communication - waiting!
    };
  });
  known.set(cluster, figures);
  return figures;
}

/** Does a filter let a rank through? "0-7", "0,3", a node's name, a device, or a state such as "slow". */
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

/** Bytes a second that a node sends and receives; null where not known. */
export function networkOf(node: Node): number | null {
  const { sent_bytes_per_s: sent, received_bytes_per_s: received } = node;
  return sent === null || received === null ? null : sent + received;
}

/** Is there a network between the nodes of this world, or are they one machine? */
export function hasNetwork(cluster: Cluster): boolean {
  return new Set(cluster.nodes.map(n => n.address)).size > 1;
}

/** A heat map: a row a rank, or a node's slowest where there are too many. */
export interface IHeat {
  rows: { label: string; ranks: readonly number[] }[];
  /** Row × column: own time against that column's median; NaN where not known. */
  cells: Float32Array;
  columns: number;
}

/** Rows of a heat map up to here; above, a row a node. */
export const MOST_HEAT_ROWS = 128;

/**
 * Own time of ranks over time, against the median of all ranks at that time.
 *
 * Columns divide the time from `from` to `to`, ms, so that the map stands below the charts of that time.
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
      ? shown.map(r => ({ label: `${r}`, ranks: [r] }))
      : byNode(cluster, shown);
  const cells = new Float32Array(rows.length * columns).fill(NaN);
  const latest = new Map<number, IPoint>();
  for (const point of points) {
    const column = Math.floor(((point.at - from) / (to - from)) * columns);
    if (column >= 0 && column <= columns) {
      latest.set(Math.min(column, columns - 1), point);
    }
  }
  for (const [column, point] of latest) {
    const { middle, own } = point;
    if (middle) {
      rows.forEach((row, i) => {
        cells[i * columns + column] = slowestOf(own, row.ranks, middle);
      });
    }
  }
  return { rows, cells, columns };
}

function slowestOf(
  own: Float32Array,
  ranks: readonly number[],
  middle: number
): number {
  let most = NaN;
  for (const rank of ranks) {
    const over = own[rank] / middle - 1;
    if (!Number.isNaN(over) && !(over <= most)) {
      most = over;
    }
  }
  return most;
}

function byNode(
  cluster: Cluster,
  shown: readonly number[]
): { label: string; ranks: number[] }[] {
  const nodes = new Map<string, number[]>();
  for (const rank of shown) {
    const node = cluster.ranks[rank].node;
    nodes.set(node, [...(nodes.get(node) ?? []), rank]);
  }
  return [...nodes].map(([label, ranks]) => ({ label, ranks }));
}

/** Where the world was rebuilt: times, ms. */
export function rebuilds(points: readonly IPoint[]): number[] {
  return points
    .filter((p, i) => i > 0 && p.generation !== points[i - 1].generation)
    .map(p => p.at);
}

/** Points in a row that tell a change from a single slow step. */
const LASTING = 6;

/**
 * Ranks that become slow with this point: they have been so for some points in a row.
 *
 * @param own own time of each rank, s; NaN where not known.
 * @param from a rank is slow from this time, s.
 * @param late points in a row for which a rank has been slow; brought up to date.
 */
export function slowed(
  own: Float32Array,
  from: number,
  late: Map<number, number>
): number[] {
  const found: number[] = [];
  own.forEach((mine, rank) => {
    if (!(mine >= from)) {
      late.delete(rank);
      return;
    }
    const length = (late.get(rank) ?? 0) + 1;
    late.set(rank, length);
    if (length === LASTING) {
      found.push(rank);
    }
  });
  return found;
}
