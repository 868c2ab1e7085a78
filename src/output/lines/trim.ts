import { ILine, LABEL, parseRanks } from './lines';
import {
  countLines,
  countsText,
  IOmitted,
  NOTHING,
  readNotice,
  together,
  without
} from './omitted';

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
const MARK = /^… (\d+) lines are left out (?:of the middle|here)([.:].*)\n/gm;

/** The notice of omitted lines. */
export function markText(omitted: IOmitted): string {
  const counts = countsText(omitted);
  return `… ${omitted.lines} lines are left out of the middle${counts && `: ${counts}`}.\n`;
}

/** A text without its middle, and the number of omitted lines; null if it is short enough. */
export function trimmed(whole: string): string | null {
  if (whole.length <= MOST_KEPT) {
    return null;
  }
  // long lines first: a line that is longer than a side has no line end to cut at, and all text would be
  // omitted
  const text = shortLines(whole);
  return text.length <= MOST_KEPT ? text : withoutMiddle(text, SIDE);
}

/**
 * A text without its middle, and the number of omitted lines.
 *
 * @param longSide - characters that are kept on each side, about.
 */
export function withoutMiddle(text: string, longSide: number): string {
  const mark = text.search(MARK);
  const border = mark < 0 ? text.length : mark;
  const [behind, gone] = around(text.slice(border));
  // the last line may still grow
  const whole = text.slice(0, border) + behind;
  const open = whole.lastIndexOf('\n') + 1;
  const rows = whole.slice(0, open).split('\n').slice(0, -1);
  const before = text.slice(0, border).split('\n').length - 1;
  const isShort = mark >= 0 && mark <= 1.5 * longSide;
  const first = isShort
    ? new Set(Array.from({ length: before }, (_, i) => i))
    : new Set(startOf(rows.slice(0, before), longSide));
  const rest = rows.filter((_, i) => !first.has(i));
  const kept = endOf(rest, longSide).map(i => rest[i]);
  const all = together(gone, countLines(textOf(rest)));
  return [
    textOf(rows.filter((_, i) => first.has(i))),
    markText(without(all, countLines(textOf(kept)))),
    textOf(kept),
    whole.slice(open)
  ].join('');
}

const textOf = (rows: readonly string[]): string =>
  rows.map(row => `${row}\n`).join('');

/** A text between omissions, and the lines that are omitted before it. */
export function betweenMarks(text: string): { text: string; left: IOmitted }[] {
  const parts: { text: string; left: IOmitted }[] = [];
  let from = 0;
  let left = NOTHING;
  for (const match of text.matchAll(MARK)) {
    parts.push({ text: text.slice(from, match.index), left });
    from = match.index + match[0].length;
    left = readNotice(Number(match[1]), match[2]);
  }
  return [...parts, { text: text.slice(from), left }];
}

/**
 * Indices of the last rows of about `most` characters, of which the ranks have printed equally many.
 *
 * Ranks print at different times, in blocks of a thousand lines or more. If only the rows that came last were kept,
 * those of one rank would stand without their counterparts of the other ranks, as if no other rank had printed them.
 * So a rank's earlier rows of the same kind are kept, too.
 */
function endOf(rows: readonly string[], most: number): number[] {
  let from = rows.length;
  for (let size = 0; from > 0; from--) {
    size += rows[from - 1].length + 1;
    if (size > most) {
      break;
    }
  }
  const labels = rows.map(row => LABEL.exec(row)?.[0] ?? '');
  const kinds = rows.map(row => row.replace(LABEL, '').replace(/\d+/g, ''));
  const wanted = new Map<string, number>();
  const printed = new Map<string, number>();
  for (let i = from; i < rows.length; i++) {
    const count = counted(printed, labels[i] + kinds[i]);
    wanted.set(kinds[i], Math.max(count, wanted.get(kinds[i]) ?? 0));
  }
  const last = (part: number): number[] => {
    const found = new Map<string, number>();
    const kept: number[] = [];
    for (let i = rows.length - 1; i >= 0; i--) {
      const most = Math.ceil((wanted.get(kinds[i]) ?? 0) * part);
      const is = labels[i]
        ? counted(found, labels[i] + kinds[i]) <= most
        : i >= from;
      if (is) {
        kept.push(i);
      }
    }
    return kept.reverse();
  };
  const size = (some: readonly number[]): number =>
    some.reduce((sum, i) => sum + rows[i].length + 1, 0);
  let kept = last(1);
  if (size(kept) > 1.5 * most) {
    kept = last(most / size(kept));
  }
  if (size(kept) > 1.5 * most) {
    // of lines that are all of different kinds, none can be spared: then those that came last
    kept = rows.map((_, i) => i).slice(from);
  }
  const ranks = new Map([...new Set(labels)].map(one => [one, ranksOf(one)]));
  const known = new Set(kept.flatMap(i => ranks.get(labels[i])!));
  const others = lastRows(
    labels.map(label => ranks.get(label)!),
    known
  );
  return [...new Set([...kept, ...others])].sort((a, b) => a - b);
}

/** Indices of the first rows, chosen as `endOf` chooses the last ones. */
function startOf(rows: readonly string[], most: number): number[] {
  return endOf([...rows].reverse(), most).map(i => rows.length - 1 - i);
}

/** The number of times that a key was counted, with this one. */
function counted(counts: Map<string, number>, key: string): number {
  const count = (counts.get(key) ?? 0) + 1;
  counts.set(key, count);
  return count;
}

/** Number of a rank's last lines that are kept if others have printed much after them. */
export const LAST_OF_RANK = 20;

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

/** The text around the omission, and the omitted lines. */
export function around(text: string): [string, IOmitted] {
  let left = NOTHING;
  const rest = text.replace(MARK, (_, lines: string, more: string) => {
    left = together(left, readNotice(Number(lines), more));
    return '';
  });
  return [rest, left];
}

/** Lines between omissions: how many lines a rank has printed in between, and so which are of one step, is unknown. */
export function betweenGaps(lines: readonly ILine[]): ILine[][] {
  const found: ILine[][] = [];
  for (const line of lines) {
    const last = found[found.length - 1];
    if (last && (last[0].gap ?? 0) === (line.gap ?? 0)) {
      last.push(line);
    } else {
      found.push([line]);
    }
  }
  return found;
}
