import { LABEL, parseRanks } from './lines';

/**
 * Maximum characters of one stream that a page keeps; beyond that, the middle is omitted. The head's journal
 * has everything.
 */
export const MOST_KEPT = 400_000;
/** Characters kept on each side. */
const SIDE = 100_000;
/** Maximum characters of one line that are kept and drawn; of a longer line, both ends. */
export const MOST_LINE = 20_000;
const LINE_SIDE = 8_000;
const LONG_LINE = new RegExp(`[^\\n]{${MOST_LINE + 1},}`, 'g');
const LINE_MARK = / … (\d+) characters of this line are left out … /;
/**
 * Notices of omitted lines: of the page, of the kernel (`kernel/output/rate_limit.py`), and of earlier
 * versions.
 */
const MARK = /^… (\d+) lines are left out (?:of the middle|here)[.:].*\n/gm;

/** The notice of omitted lines. */
export const MARK_TEXT = (lines: number): string =>
  `… ${lines} lines are left out of the middle.\n`;

/** A text without its middle, and the number of omitted lines; null if it is short enough. */
export function trimmed(whole: string): string | null {
  if (whole.length <= MOST_KEPT) {
    return null;
  }
  // long lines first: a line that is longer than a side has no line end to cut at, and all text would be
  // omitted
  const text = shortLines(whole);
  if (text.length <= MOST_KEPT) {
    return text;
  }
  const mark = text.search(MARK);
  const side = text.lastIndexOf('\n', SIDE) + 1;
  const first = mark < 0 ? side : Math.min(mark, side);
  const last = text.indexOf('\n', text.length - SIDE) + 1;
  const [rest, gone] = around(text.slice(first, last));
  const end = text.slice(last);
  const kept = lastOfRanks(rest, end);
  const cut = gone + linesIn(rest) - linesIn(kept);
  return text.slice(0, first) + MARK_TEXT(cut) + kept + end;
}

/** Number of a rank's last lines that are kept if others have printed much after them. */
export const LAST_OF_RANK = 20;

/** The last lines of ranks that have no line in the remaining end. */
export function lastOfRanks(middle: string, end: string): string {
  const rows = middle.split('\n').slice(0, -1);
  const kept = lastRows(
    rows.map(ranksOf),
    new Set(end.split('\n').flatMap(ranksOf))
  );
  return kept.map(i => `${rows[i]}\n`).join('');
}

/** Indices of the last rows of each other rank. */
export function lastRows(
  rows: readonly (readonly number[])[],
  known: ReadonlySet<number>
): number[] {
  const counts = new Map<number, number>();
  const kept: number[] = [];
  for (let i = rows.length - 1; i >= 0; i--) {
    const lacking = rows[i].filter(
      rank => !known.has(rank) && (counts.get(rank) ?? 0) < LAST_OF_RANK
    );
    lacking.forEach(rank => counts.set(rank, (counts.get(rank) ?? 0) + 1));
    if (lacking.length) {
      kept.push(i);
    }
  }
  return kept.reverse();
}

export const linesIn = (text: string): number => text.split('\n').length - 1;

function ranksOf(row: string): number[] {
  const match = LABEL.exec(row);
  return match ? parseRanks(match[1]) : [];
}

/** A text with the middles of long lines replaced by the number of omitted characters. */
export function shortLines(text: string): string {
  return text.length > MOST_LINE
    ? text.replace(LONG_LINE, line => shortLine(line))
    : text;
}

/** Both ends of a line; a line that was cut before and has grown is cut at the same position. */
function shortLine(line: string): string {
  const mark = LINE_MARK.exec(line);
  const before = mark ? Number(mark[1]) : 0;
  const first = mark ? mark.index : between(line, LINE_SIDE);
  const from = mark ? mark.index + mark[0].length : first;
  const last = Math.max(from, between(line, line.length - LINE_SIDE));
  const cut = before + last - from;
  return `${line.slice(0, first)} … ${cut} characters of this line are left out … ${line.slice(last)}`;
}

/** A nearby position that does not split a surrogate pair. */
function between(line: string, at: number): number {
  return /[\uDC00-\uDFFF]/.test(line.charAt(at)) ? at + 1 : at;
}

/** The text around the omission, and the number of omitted lines. */
export function around(text: string): [string, number] {
  let left = 0;
  const rest = text.replace(MARK, (_, lines: string) => {
    left += Number(lines);
    return '';
  });
  return [rest, left];
}
