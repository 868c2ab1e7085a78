import { ILine } from '../lines/lines';
import { lastRows } from '../lines/trim';

/** Maximum number of lines drawn initially; the middle is omitted, and added in steps of this size. */
export const MOST_LINES = 2000;

/** Omitted lines in the middle, and how to show them. */
export interface ILeft {
  /** Approximate number of rows that only the journal has. */
  gone: number;
  /** Number of lines drawn at the beginning. */
  first: number;
  /** Whether the number of omitted rows of this list is unknown. */
  uncounted?: boolean;
  /** Show more of them; null if they are no longer available. */
  show: (() => void) | null;
}

/** The lines that are drawn before and after those that are not, which are at least where the page lacks lines. */
export function shownOf(
  lines: readonly ILine[],
  left: Pick<ILeft, 'gone' | 'first'>
): { first: readonly ILine[]; last: readonly ILine[] } {
  const half = MOST_LINES / 2;
  const fits = lines.length <= left.first + half;
  if (fits && !left.gone) {
    return { first: lines, last: [] };
  }
  const gap = lines.findIndex(line => line.gap);
  const at = gap < 0 ? lines.length : gap;
  if (fits) {
    return { first: lines.slice(0, at), last: lines.slice(at) };
  }
  const first = lines.slice(
    0,
    Math.min(left.first, lines.length - half, left.gone ? at : Infinity)
  );
  return { first, last: endOf(lines, first.length, half) };
}

/**
 * Number of omitted lines that will be rows of the list of all ranks.
 *
 * They are counted as ranks printed them; as rows they are folded, like those that the page has.
 */
export function rowsOf(
  left: ILeft,
  rows: readonly ILine[],
  lines: readonly ILine[]
): ILeft {
  const share = rows.length ? rows.length / lines.length : 1;
  return { ...left, gone: Math.ceil(left.gone * share) };
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
