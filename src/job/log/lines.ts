import { LogLine } from '../../tokens';
import { formatRanks } from '../../metrics/format';
import { followingLines, ICause } from './causedErrors';
import { OneNumber } from './foldNumbers';
import { foldTracebacks, isHead, markFailed } from './tracebacks';

/** A displayed row of the log; equal lines of several ranks are one row. */
export interface ILogRow {
  /** Its key. */
  key: string;
  time: number;
  ranks: string;
  /** The ranks that wrote it, in order. */
  members: readonly number[];
  /** Number of ranks that wrote it. */
  count: number;
  text: string;
  /** The original texts of its ranks, if they differ from its text. */
  written: readonly string[];
  error: boolean;
  /** Whether it belongs to a traceback, last line included, and is not just on stderr. */
  failed: boolean;
  /** Number of identical lines right after it, which are folded into this one. */
  like: number;
  /** Number of library frames that this row replaces; 0 for an ordinary line. */
  frames: number;
  /** An error that only follows from another rank's. */
  follows: boolean;
  /** Number of further lines of such errors that this row replaces. */
  folded: number;
}

const TOGETHER_S = 1;
/** Number of rows that are searched for the same line of another rank. */
const BACK = 200;

function isFrame(text: string): boolean {
  return /^ {2}File "/.test(text);
}

/** Whether a line of a traceback is in a library's code; `inside`: whether the previous line was. */
function inLibrary(line: LogLine, inside: boolean): boolean {
  if (!line.error) {
    return false;
  }
  return isFrame(line.text)
    ? /site-packages|\/lib\/python3|<frozen /.test(line.text)
    : inside && line.text.startsWith('    ');
}

interface IMade extends Omit<ILogRow, 'members' | 'written'> {
  members: number[];
  written: string[];
  /** The part that differs between ranks; null if none may. */
  one: OneNumber | null;
}

function rowOf(
  line: LogLine,
  number: number,
  others: readonly number[] = []
): IMade {
  return {
    key: `${line.time} ${line.rank} ${number}`,
    time: line.time,
    ranks: '',
    count: 1,
    text: line.text,
    written: [],
    one: null,
    error: line.error ?? false,
    failed: false,
    like: 0,
    frames: 0,
    follows: false,
    folded: 0,
    members: [line.rank, ...others]
  };
}

/**
 * Convert lines of a log to rows.
 *
 * @param fold - the same line again, by the same ranks, is counted; frames of libraries in a traceback, too;
 * equal tracebacks of several ranks are one, and so is all that only follows from the cause. Lines of ranks that
 * differ in one whole number, at one place or several, are one where each rank's number can be read in it
 * @param open - keys of rows that are not folded
 * @param from - number of the first line, where earlier ones have gone: keys stay
 * @param cause - the error that failed the job: it stands above what follows from it
 */
export function rowsOf(
  lines: readonly LogLine[],
  fold: boolean,
  open: ReadonlySet<string> = new Set(),
  from = 0,
  cause: ICause | null = null
): ILogRow[] {
  const made = together(lines, fold, open, from, cause);
  markFailed(made);
  const rows = causeFirst(made, cause);
  const found: IMade[] = [];
  /** The first of the equal rows. */
  let first: IMade | undefined;
  for (const row of rows) {
    const again = fold && first && isSame(first, row);
    if (first && again && !open.has(first.key)) {
      first.like += 1;
      continue;
    }
    first = again ? first : row;
    found.push(row);
  }
  return found.map(({ one: _, ...row }) => ({
    ...row,
    ranks: formatRanks(row.members),
    count: row.members.length
  }));
}

/** A rank may report the lost connection before the rank that caused it reports its error. */
function causeFirst(rows: IMade[], cause: ICause | null): IMade[] {
  const last = rows
    .map(row => row.failed && row.members.includes(cause?.rank ?? -1))
    .lastIndexOf(true);
  const above = rows.slice(0, last + 1);
  const early = above.filter(row => row.follows);
  return early.length
    ? [...above.filter(row => !row.follows), ...early, ...rows.slice(last + 1)]
    : rows;
}

function isSame(one: IMade, other: IMade): boolean {
  return (
    !one.frames &&
    !other.frames &&
    !one.folded &&
    !other.folded &&
    one.text === other.text &&
    one.error === other.error &&
    one.members.join() === other.members.join()
  );
}

/** Merge equal lines that ranks wrote at the same time, keeping the order of each rank. */
function together(
  lines: readonly LogLine[],
  fold: boolean,
  open: ReadonlySet<string>,
  from: number,
  cause: ICause | null
): IMade[] {
  const rows: IMade[] = [];
  const following = followingLines(lines, cause);
  /** All consequences of the cause. */
  let followers: IMade | undefined;
  /** Rank → position of its last line; its next line comes after it. */
  const reached = new Map<number, number>();
  /** Rank → the row into which its library frames are folded. */
  const library = new Map<number, IMade>();
  const { left, others } = foldTracebacks(fold ? lines : []);
  lines.forEach((line, number) => {
    const error = following.get(number);
    if (fold && error !== undefined) {
      if (!followers) {
        followers = rowOf(line, from + number);
        followers.follows = true;
        if (!open.has(followers.key)) {
          followers.text = error;
          rows.push(followers);
        }
      } else if (!followers.members.includes(line.rank)) {
        followers.members.push(line.rank);
      }
      if (!open.has(followers.key)) {
        followers.folded += line.text === followers.text ? 0 : 1;
        return;
      }
    }
    if (left.has(number)) {
      return;
    }
    const also = others.get(number);
    const follows = error !== undefined;
    // what these ranks wrote next comes below
    also?.forEach(rank => reached.set(rank, rows.length));
    if (fold && inLibrary(line, library.has(line.rank))) {
      const known = library.get(line.rank);
      if (known && open.has(known.key)) {
        rows.push({ ...rowOf(line, from + number, also), follows });
        return;
      }
      if (known) {
        known.frames += isFrame(line.text) ? 1 : 0;
        return;
      }
      const row = { ...rowOf(line, from + number, also), follows };
      library.set(line.rank, row);
      if (!open.has(row.key)) {
        row.text = '';
        row.frames = 1;
      }
      rows.push(row);
      return;
    }
    library.delete(line.rank);
    const after = Math.max(
      reached.get(line.rank) ?? -1,
      rows.length - BACK - 1
    );
    const may = (row: IMade): boolean =>
      row.error === (line.error ?? false) &&
      !row.frames &&
      row.follows === follows &&
      // a new traceback: its lines stay below its own header
      !isHead(line.text) &&
      !also &&
      Math.abs(line.time - row.time) < TOGETHER_S &&
      !row.members.includes(line.rank);
    const isTaken = (test: (row: IMade) => boolean): boolean => {
      for (let i = after + 1; i < rows.length; i++) {
        if (may(rows[i]) && test(rows[i])) {
          rows[i].members.push(line.rank);
          reached.set(line.rank, i);
          return true;
        }
      }
      return false;
    };
    // prefer the same line to one with another number
    if (
      isTaken(
        row => row.text === line.text && (!row.one || row.one.take(line))
      ) ||
      isTaken(row => {
        const taken = row.one?.take(line) ?? false;
        if (taken) {
          row.written.push(line.text);
        }
        return taken;
      })
    ) {
      return;
    }
    reached.set(line.rank, rows.length);
    const one = fold && !line.error ? new OneNumber(line) : null;
    rows.push({ ...rowOf(line, from + number, also), follows, one });
  });
  for (const row of rows) {
    row.members.sort((a, b) => a - b);
    if (row.written.length) {
      row.written.push(row.text);
      row.text = row.one?.text ?? row.text;
    }
  }
  return rows;
}

/** Whether a rank wrote this row, alone or with others. */
export function isOf(row: ILogRow, rank: number | null): boolean {
  return rank !== null && row.members.includes(rank);
}

/** Whether this row continues the previous one in a traceback, which shows its time and ranks. */
export function goesOn(before: ILogRow | undefined, row: ILogRow): boolean {
  return (
    before !== undefined &&
    before.error &&
    row.error &&
    before.ranks === row.ranks &&
    row.time - before.time < TOGETHER_S &&
    !isHead(row.text)
  );
}

const CELL = /File "([^"]+\.ipynb)(\[\d+\])", line (\d+)/;

/** The cell and line that a line of a traceback names, and the text around them. */
export function placeOf(text: string): {
  notebook: string;
  cell: string;
  line: number;
  before: string;
  after: string;
} | null {
  const match = CELL.exec(text);
  return match
    ? {
        notebook: match[1],
        cell: match[2],
        line: Number(match[3]),
        before: text.slice(0, match.index),
        after: text.slice(match.index + match[0].length)
      }
    : null;
}
