import { formatRanks } from '../../metrics/format';
import { fold as foldedLines, textOf } from '../../output/folding/fold';
import { ILine } from '../../output/lines/lines';
import { IShape, readShape } from '../../output/folding/shape';
import { LogLine } from '../../tokens';
import { followingLines, ICause } from './causedErrors';
import { blocksIn, foldTracebacks, isHead, markFailed } from './tracebacks';

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
  /** The line, if its ranks wrote different numbers in it; null for an ordinary row. */
  differing: ILine | null;
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
  /** The lines that it stands for, with those that are folded into it; a progress bar is none. */
  lines: readonly LogLine[];
}

/**
 * Lines of several ranks are one row if they came within this time of each other: a row has one time, and an attempt
 * of a job is not mixed with the one before.
 */
const TOGETHER_S = 5;
/** Lines of a rank's traceback show time and ranks once, if they came within this time. */
const BLOCK_S = 1;

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

interface IMade extends Omit<ILogRow, 'members' | 'lines'> {
  members: number[];
  lines: LogLine[];
}

/** A line of the log, or what stands for several, for the rule by which lines of ranks are folded. */
interface IUnit extends ILine {
  row: IMade;
  source: LogLine;
  /** Whether it stays by itself, as a line of a traceback does. */
  alone: boolean;
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
    differing: null,
    written: [],
    error: line.error ?? false,
    failed: false,
    like: 0,
    frames: 0,
    follows: false,
    folded: 0,
    members: [line.rank, ...others],
    // the other ranks' lines are equal
    lines: [line, ...others.map(rank => ({ ...line, rank }))]
  };
}

/**
 * Convert lines of a log to rows.
 *
 * @param fold - the same line again, by the same ranks, is counted; frames of libraries in a traceback, too;
 * equal tracebacks of several ranks are one, and so is all that only follows from the cause. Lines of ranks are
 * folded as in the output of cells. Without it, only equal lines of ranks are one
 * @param open - keys of rows that are not folded
 * @param from - number of the first line, where earlier ones have gone: keys stay
 * @param cause - the error that failed the job: it stands above what follows from it
 * @param isCut - whether lines before the first one are missing
 */
export function rowsOf(
  lines: readonly LogLine[],
  fold: boolean,
  open: ReadonlySet<string> = new Set(),
  from = 0,
  cause: ICause | null = null,
  isCut = false
): ILogRow[] {
  const made = together(unitsOf(lines, fold, open, from, cause), fold, isCut);
  markFailed(made);
  const rows = causeFirst(made, cause);
  const found: IMade[] = [];
  /** The first of the equal rows. */
  let first: IMade | undefined;
  for (const row of rows) {
    const again = fold && first && isSame(first, row);
    if (first && again && !open.has(first.key)) {
      first.like += 1;
      first.lines.push(...row.lines);
      continue;
    }
    first = again ? first : row;
    found.push(row);
  }
  return found.map(row => ({
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

/** Fold lines of several ranks, keeping the order of each rank. */
function together(
  units: readonly IUnit[],
  fold: boolean,
  isCut: boolean
): IMade[] {
  const folded = foldedLines(units, {
    shape: unit => shapeIn(unit.source, fold),
    alone: unit => unit.alone,
    may: (one, other) => Math.abs(one.row.time - other.row.time) < TOGETHER_S,
    time: isCut ? unit => unit.row.time : undefined
  });
  const rows = folded.map(({ line, of }) => {
    const { row } = of[0];
    if (of.length > 1) {
      row.members = [...line.ranks];
      row.lines = of.flatMap(unit => unit.row.lines);
      row.text = textOf(line);
    }
    if (line.range) {
      row.differing = line;
      row.written = of.map(({ text }) => text);
    }
    return row;
  });
  rows.forEach(row => row.members.sort((a, b) => a - b));
  return rows;
}

/** Shapes of lines, with numbers that may differ and without: a log is folded again with each new piece. */
const folding = new WeakMap<LogLine, IShape>();
const equal = new WeakMap<LogLine, IShape>();

function shapeIn(line: LogLine, fold: boolean): IShape {
  const shapes = fold ? folding : equal;
  const found =
    shapes.get(line) ??
    readShape(line.text, line.error ?? false, fold, [line.rank]);
  shapes.set(line, found);
  return found;
}

/** Lines of a log, with what is folded of one rank's: frames of libraries, and errors that only follow. */
function unitsOf(
  lines: readonly LogLine[],
  fold: boolean,
  open: ReadonlySet<string>,
  from: number,
  cause: ICause | null
): IUnit[] {
  const units: IUnit[] = [];
  const following = followingLines(lines, cause);
  const inBlocks = new Set(blocksIn(lines).flatMap(block => block.numbers));
  /** All consequences of the cause. */
  let followers: IMade | undefined;
  /** Rank → the row into which its library frames are folded. */
  const library = new Map<number, IMade>();
  const { left, others } = foldTracebacks(fold ? lines : []);
  const add = (row: IMade, source: LogLine, alone: boolean): void => {
    const { text, error } = row;
    units.push({ row, source, ranks: [...row.members], text, error, alone });
  };
  lines.forEach((line, number) => {
    const error = following.get(number);
    if (fold && error !== undefined) {
      if (!followers) {
        followers = rowOf(line, from + number);
        followers.follows = true;
        if (!open.has(followers.key)) {
          followers.text = error;
          add(followers, line, true);
        }
      } else if (!followers.members.includes(line.rank)) {
        followers.members.push(line.rank);
      }
      if (!open.has(followers.key)) {
        followers.folded += line.text === followers.text ? 0 : 1;
        if (followers.lines[0] !== line) {
          followers.lines.push(line);
        }
        return;
      }
    }
    if (left.has(number)) {
      return;
    }
    const also = others.get(number);
    const follows = error !== undefined;
    const row = { ...rowOf(line, from + number, also), follows };
    if (fold && inLibrary(line, library.has(line.rank))) {
      const known = library.get(line.rank);
      if (known && !open.has(known.key)) {
        known.frames += isFrame(line.text) ? 1 : 0;
        known.lines.push(...row.lines);
        return;
      }
      if (!known) {
        library.set(line.rank, row);
        if (!open.has(row.key)) {
          row.text = '';
          row.frames = 1;
        }
      }
      add(row, line, true);
      return;
    }
    library.delete(line.rank);
    // the lines of a traceback stay below its header
    const alone = follows || inBlocks.has(number) || isHead(line.text);
    add(row, line, alone);
  });
  return units;
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
    row.time - before.time < BLOCK_S &&
    !isHead(row.text)
  );
}
