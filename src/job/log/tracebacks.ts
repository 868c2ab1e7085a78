import { LogLine } from '../../tokens';

/** Equal tracebacks of two ranks that began within this interval are shown as one. */
const TOGETHER_S = 10;

/** Lines that follow an error's first line within this interval belong to its message. */
const MESSAGE_S = 0.1;

/** A traceback of one rank: from its header to the last line of its error's message. */
export interface IBlock {
  rank: number;
  time: number;
  /** Positions of its lines in the log. */
  numbers: number[];
}

/** Effect of merging equal tracebacks of several ranks on a log's lines. */
export interface IFolded {
  /** Lines that are merged into another rank's traceback. */
  left: ReadonlySet<number>;
  /** Number of a line of a traceback → the other ranks that wrote it. */
  others: ReadonlyMap<number, readonly number[]>;
}

/**
 * The header of a traceback. The group: what stands before it in the frame of an exception group, "  + " before that
 * of the outermost group, and "    | " before those of its errors.
 */
const HEAD = /^([ |+-]*)(?:Exception Group )?Traceback \(/;
const OUTERMOST = ['', '  + '];
/** A line in the frame of an exception group. */
const FRAMED = /^ {2,}[|+]/;
/** The last line of an exception group, and of one in it. */
const CLOSED = /^ +\+-{20,}$/;

/**
 * Whether this is the header of a traceback.
 *
 * @param nested - also of an error in an exception group, whose header is above
 */
export function isHead(text: string, nested = false): boolean {
  const frame = HEAD.exec(text)?.[1];
  return frame !== undefined && (nested || OUTERMOST.includes(frame));
}

/** Errors in an exception group, each as its line would be outside; none for lines of another traceback. */
export function errorsInGroup(texts: readonly string[]): string[] {
  return texts
    .filter(text => FRAMED.test(text))
    .map(text => text.replace(/^[ |]+/, ''))
    .filter(text => ERROR.test(text));
}

/** Text between an error and its cause, besides blank lines. */
const AMONG = /^(?:During handling of the above|The above exception was) /;

/** The current traceback of a rank. */
interface IOpen {
  block: IBlock;
  /** Whether its lines are in the frame of an exception group. */
  framed: boolean;
  /** Lines after its error, which belong to it if another one follows; null before its error. */
  behind: number[] | null;
  /** Time of its last line. */
  at: number;
}

/** Complete tracebacks, with those of their causes, in the order of their last lines. */
export function blocksIn(lines: readonly LogLine[]): IBlock[] {
  const whole: IBlock[] = [];
  const begun = new Map<number, IOpen>();
  const end = (rank: number): void => {
    const open = begun.get(rank);
    begun.delete(rank);
    if (open?.behind) {
      whole.push(open.block);
    }
  };
  lines.forEach(({ rank, time, text, error }, number) => {
    if (!error) {
      return;
    }
    const open = begun.get(rank);
    if (open?.behind && (text === '' || AMONG.test(text))) {
      open.behind.push(number);
      return;
    }
    if (open?.framed && !isHead(text) && !FRAMED.test(text)) {
      if (open.behind) {
        end(rank);
      }
      return; // of another thread: an exception group has all its lines in its frame
    }
    if (
      open?.behind &&
      !isHead(text) &&
      (open.framed || time - open.at <= MESSAGE_S)
    ) {
      open.block.numbers.push(...open.behind, number);
      open.behind = [];
      return;
    }
    const follows = !!open?.behind?.length && isHead(text);
    if (!follows && (open?.behind || isHead(text))) {
      end(rank);
    }
    const at = begun.get(rank);
    if (at) {
      at.block.numbers.push(...(at.behind ?? []), number);
      at.framed = isHead(text) ? FRAMED.test(text) : at.framed;
      const last = at.framed ? CLOSED : /^\S/;
      at.behind = last.test(text) && !isHead(text) ? [] : null;
      at.at = time;
    } else if (isHead(text)) {
      begun.set(rank, {
        block: { rank, time, numbers: [number] },
        framed: FRAMED.test(text),
        behind: null,
        at: time
      });
    }
  });
  [...begun.keys()].forEach(end);
  return whole.sort(
    (a, b) => (a.numbers.at(-1) ?? 0) - (b.numbers.at(-1) ?? 0)
  );
}

/**
 * Merge identical tracebacks of several ranks into the last one: what each rank wrote before its own stays
 * above.
 */
export function foldTracebacks(lines: readonly LogLine[]): IFolded {
  const left = new Set<number>();
  const others = new Map<number, number[]>();
  /** Text → the traceback that represents all, and the other ranks that wrote it. */
  const blocks = new Map<string, { block: IBlock; ranks: number[] }>();
  for (const block of blocksIn(lines)) {
    const text = block.numbers.map(number => lines[number].text).join('\n');
    const before = blocks.get(text);
    const same =
      before !== undefined &&
      ![before.block.rank, ...before.ranks].includes(block.rank) &&
      Math.abs(block.time - before.block.time) <= TOGETHER_S;
    const ranks = same ? [before.block.rank, ...before.ranks] : [];
    if (same) {
      before.block.numbers.forEach(number => {
        left.add(number);
        others.delete(number);
      });
      block.numbers.forEach(number => others.set(number, ranks));
    }
    blocks.set(text, { block, ranks });
  }
  return { left, others };
}

/** Properties of a row that show whether it belongs to an error. */
interface IMarked {
  text: string;
  error: boolean;
  frames: number;
  members: readonly number[];
  follows: boolean;
  failed: boolean;
}

/** The line of an error: "KeyError: 3", "torch.OutOfMemoryError: …", "KeyboardInterrupt". */
const ERROR =
  /^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)(?::|$)|^Fatal Python error/;

/**
 * Mark lines of tracebacks and errors: from the header to the first line that is not indented, or to the end of the
 * exception group's frame.
 */
export function markFailed(rows: readonly IMarked[]): void {
  const inside = new Set<number>();
  /** Of these, ranks in the frame of an exception group. */
  const framed = new Set<number>();
  /** Ranks whose last line belonged to a traceback. */
  const behind = new Set<number>();
  for (const row of rows) {
    if (!row.error) {
      continue;
    }
    const isFramed = FRAMED.test(row.text);
    if (!isFramed) {
      row.members
        .filter(rank => framed.delete(rank))
        .forEach(rank => inside.delete(rank));
    }
    const within = row.members.some(rank => inside.has(rank));
    const goesOn =
      (!row.text.trim() || AMONG.test(row.text)) &&
      row.members.some(rank => behind.has(rank));
    if (isHead(row.text, true)) {
      row.failed = true;
      row.members.forEach(rank => {
        inside.add(rank);
        return isFramed ? framed.add(rank) : framed.delete(rank);
      });
    } else if (within) {
      row.failed = true;
      if (/^\S/.test(row.text) && !row.frames) {
        row.members.forEach(rank => inside.delete(rank));
      }
    } else {
      row.failed = goesOn || ERROR.test(row.text);
    }
    row.members.forEach(rank =>
      row.failed ? behind.add(rank) : behind.delete(rank)
    );
    row.failed &&= !row.follows;
  }
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
