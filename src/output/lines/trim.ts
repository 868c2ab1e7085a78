import { ILine, LABEL, parseRanks } from './lines';
import {
  countLines,
  countsText,
  IOmitted,
  NOTHING,
  readNotice,
  together,
  without
} from '../text/omitted';

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
  const side = text.lastIndexOf('\n', longSide) + 1;
  const first = mark < 0 ? side : Math.min(mark, side);
  const last = text.indexOf('\n', text.length - longSide) + 1;
  const border = last + evenIn(text, last);
  const [rest, gone] = around(text.slice(first, border));
  const end = text.slice(border);
  const kept = lastOfRanks(rest, end);
  const cut = without(together(gone, countLines(rest)), countLines(kept));
  return text.slice(0, first) + markText(cut) + kept + end;
}

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

/** Maximum number of lines that are looked at for an end that begins alike on all ranks. */
const MOST_LOOKED_AT = 200;

/**
 * Characters from a line on to the first one at which the ranks have printed alike: where a step's lines of some ranks
 * were omitted, and those of others were not, all later lines of these ranks would be folded with another step's.
 */
function evenIn(text: string, from: number): number {
  const begin = [...text.slice(0, from).matchAll(MARK)].pop();
  const start = begin ? begin.index + begin[0].length : 0;
  const balance = new Balance();
  rowsOf(text.slice(start, from)).forEach(row => balance.add(row));
  // whole lines only: the last one may still grow
  const rows = rowsOf(text.slice(from));
  let [at, best, found] = [0, balance.uneven, 0];
  for (const row of rows.slice(0, Math.min(MOST_LOOKED_AT, rows.length - 1))) {
    if (!best) {
      break;
    }
    balance.add(row);
    at += row.length + 1;
    if (balance.uneven < best) {
      [best, found] = [balance.uneven, at];
    }
  }
  return found;
}

function rowsOf(text: string): string[] {
  return text.split('\n').slice(0, -1);
}

/** Compares how many lines of a kind, which differ in numbers only, each rank has printed. */
class Balance {
  /** Number of kinds of which ranks have printed different numbers of lines. */
  get uneven(): number {
    return this._uneven.size;
  }

  add(row: string): void {
    const ranks = ranksOf(row);
    if (!ranks.length) {
      return;
    }
    const kind = row.replace(LABEL, '').replace(/\d+/g, '');
    const known = this._kinds.get(kind);
    const of = known ?? { counts: new Map<number, number>(), most: 0, have: 0 };
    this._kinds.set(kind, of);
    for (const rank of ranks) {
      const count = (of.counts.get(rank) ?? 0) + 1;
      of.counts.set(rank, count);
      if (count > of.most) {
        of.most = count;
        of.have = 1;
      } else if (count === of.most) {
        of.have++;
      }
    }
    if (of.have === of.counts.size) {
      this._uneven.delete(kind);
    } else {
      this._uneven.add(kind);
    }
  }

  /** Kind → lines of each rank, the highest of these numbers, and how many ranks have it. */
  private _kinds = new Map<
    string,
    { counts: Map<number, number>; most: number; have: number }
  >();
  private _uneven = new Set<string>();
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
