import { Cluster, IPoint } from '../../tokens';
import { shownOver, usualOf } from '../../metrics/ownTime';

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

/** Whether its rows are of several nodes, which are named beside them in place of ranks. */
export function hasNodes({ rows }: IHeat): boolean {
  return rows.some(row => row.group !== rows[0].group);
}

/** Whether a row has a known time in the columns from `from` to before `to`. */
export function hasTime(
  { cells, columns }: IHeat,
  row: number,
  from: number,
  to: number
): boolean {
  const piece = cells.subarray(row * columns + from, row * columns + to);
  return piece.some(over => !Number.isNaN(over));
}

/** Whether anything of a map is known. */
export function isKnown({ cells }: IHeat): boolean {
  return cells.some(over => !Number.isNaN(over));
}
