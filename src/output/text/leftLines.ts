import { ILine } from '../lines/lines';
import { countRanks, IOmitted, together } from '../lines/omitted';
import { lastRows } from '../lines/trim';

/** Maximum number of lines drawn initially; the middle is omitted, and added in steps of this size. */
export const MOST_LINES = 2000;

/** How to show the lines that are not drawn. */
interface IShowing {
  /** Number of lines drawn at the beginning. */
  first: number;
  /** Show more of them; null if they are no longer available. */
  show: (() => void) | null;
  /** Why they are not; empty if they are, or if that is not known yet. */
  why?: string;
}

/** The lines of a cell that only the journal has. */
export interface ILeft extends IShowing {
  gone: IOmitted;
}

/** The rows of a list that the page lacks. */
export interface ILeftRows extends IShowing {
  gone: number;
  /** Whether there may be more. */
  atLeast?: boolean;
  /** The most that there may be; undefined if unknown. */
  atMost?: number;
}

/** The lines that are drawn before and after those that are not, which are at least where the page lacks lines. */
export function shownOf(
  lines: readonly ILine[],
  left: Omit<ILeftRows, 'show' | 'why'>
): { first: readonly ILine[]; last: readonly ILine[] } {
  const half = MOST_LINES / 2;
  const lacks = left.gone > 0 || left.atLeast;
  const fits = lines.length <= left.first + half;
  if (fits && !lacks) {
    return { first: lines, last: [] };
  }
  const gap = lines.findIndex(line => line.gap);
  const at = gap < 0 ? lines.length : gap;
  if (fits) {
    return { first: lines.slice(0, at), last: lines.slice(at) };
  }
  const first = lines.slice(
    0,
    Math.min(left.first, lines.length - half, lacks ? at : Infinity)
  );
  return { first, last: endOf(lines, first.length, half) };
}

/**
 * The omitted lines as rows of the list of all ranks.
 *
 * Lines of several ranks may be folded into one row, of each rank one. So there are at least as many rows as one rank
 * has lines, and at most as many as were printed.
 *
 * @param rows - rows of the lines that the page has.
 * @param lines - these lines.
 * @param size - number of ranks that run the cell.
 */
export function rowsOf(
  { gone, ...showing }: ILeft,
  rows: readonly ILine[],
  lines: readonly ILine[],
  size: number
): ILeftRows {
  if (!gone.lines) {
    return { ...showing, gone: 0 };
  }
  const here = countRanks(lines);
  const counts = [...together(gone, here).ofRank.values()];
  const most = Math.max(0, ...counts);
  const printed = counts.reduce((sum, count) => sum + count, gone.unknown);
  const all =
    here.unknown + Math.max(most, Math.ceil(printed / Math.max(1, size)));
  const missing = Math.max(0, all - rows.length);
  if (missing >= gone.lines) {
    return { ...showing, gone: missing, atLeast: false };
  }
  const omitted = [...gone.ofRank.values()];
  const atMost = omitted.reduce((sum, count) => sum + count, gone.unknown);
  return gone.unknown
    ? { ...showing, gone: missing, atLeast: true } // ranks may share those
    : { ...showing, gone: missing, atLeast: true, atMost };
}

/** The omitted lines of one rank. */
export function linesLeft(
  { gone, ...showing }: ILeft,
  rank: number
): ILeftRows {
  return {
    ...showing,
    gone: gone.ofRank.get(rank) ?? 0,
    atLeast: gone.unknown > 0
  };
}

/** The last lines, preceded by the last lines of other ranks. */
function endOf(
  lines: readonly ILine[],
  from: number,
  most: number
): readonly ILine[] {
  const to = Math.max(from, lines.length - most);
  const end = lines.slice(to);
  const middle = lines.slice(from, to);
  const kept = lastRows(
    middle.map(line => line.ranks),
    new Set(end.flatMap(line => line.ranks))
  );
  return [...kept.map(i => middle[i]), ...end];
}
