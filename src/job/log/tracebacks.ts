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

/** Whether this is the header of a traceback. */
export function isHead(text: string): boolean {
  return text.startsWith('Traceback (');
}

/** Text between an error and its cause, besides blank lines. */
const AMONG = /^(?:During handling of the above|The above exception was) /;

/** Complete tracebacks, with those of their causes, in the order of their last lines. */
export function blocksIn(lines: readonly LogLine[]): IBlock[] {
  const whole: IBlock[] = [];
  /**
   * Rank → its current traceback; `behind`: lines after its error, which belong to it if another one follows.
   */
  const begun = new Map<
    number,
    { block: IBlock; behind: number[] | null; at: number }
  >();
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
    if (open?.behind && !isHead(text) && time - open.at <= MESSAGE_S) {
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
      at.behind = /^\S/.test(text) && !isHead(text) ? [] : null;
      at.at = time;
    } else if (isHead(text)) {
      begun.set(rank, {
        block: { rank, time, numbers: [number] },
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

/** The header of a traceback, also of an error in a group, and of one that is the cause of another. */
const HEAD = /^[ |+-]*(?:Exception Group )?Traceback \(/;
/** The line of an error: "KeyError: 3", "torch.OutOfMemoryError: …", "KeyboardInterrupt". */
const ERROR =
  /^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)(?::|$)|^Fatal Python error/;

/** Mark lines of tracebacks and errors: from the header to the first line that is not indented. */
export function markFailed(rows: readonly IMarked[]): void {
  const inside = new Set<number>();
  /** Ranks whose last line belonged to a traceback. */
  const behind = new Set<number>();
  for (const row of rows) {
    if (!row.error) {
      continue;
    }
    const within = row.members.some(rank => inside.has(rank));
    const goesOn =
      (!row.text.trim() || AMONG.test(row.text)) &&
      row.members.some(rank => behind.has(rank));
    if (HEAD.test(row.text)) {
      row.failed = true;
      row.members.forEach(rank => inside.add(rank));
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
