import { LogLine } from '../tokens';
import { formatRanks } from '../ui/format';

/** A row of the log as it is shown: equal lines of several ranks are one. */
export interface ILogRow {
  time: number;
  ranks: string;
  text: string;
  error: boolean;
  /** Lines of the same shape that follow it, folded. */
  like: number;
  /** Frames of libraries that this row stands for; 0 for an ordinary line. */
  frames: number;
}

const NUMBER = /\d+(\.\d+)?(e[+-]?\d+)?/gi;
const TOGETHER_S = 1;

/** What a line is but for its numbers. */
export function shape(text: string): string {
  return text.replace(NUMBER, '#');
}

function isFrame(text: string): boolean {
  return /^ {2}File "/.test(text);
}

/** A line of a traceback that is in a library's code; `inside`: the line before was. */
function inLibrary(line: LogLine, inside: boolean): boolean {
  if (!line.error) {
    return false;
  }
  return isFrame(line.text)
    ? /site-packages|\/lib\/python3|<frozen /.test(line.text)
    : inside && line.text.startsWith('    ');
}

/**
 * Rows of a log.
 *
 * @param fold - lines that differ only in numbers become one row with a count
 */
export function rowsOf(lines: readonly LogLine[], fold: boolean): ILogRow[] {
  const rows: (ILogRow & { members: number[]; shape: string })[] = [];
  /** Rank → the row that its library frames are folded into. */
  const library = new Map<number, (typeof rows)[number]>();
  for (const line of lines) {
    if (fold && inLibrary(line, library.has(line.rank))) {
      const known = library.get(line.rank);
      if (known) {
        known.frames += isFrame(line.text) ? 1 : 0;
      } else {
        const row = {
          time: line.time,
          ranks: '',
          text: '',
          error: true,
          like: 0,
          frames: 1,
          members: [line.rank],
          shape: ''
        };
        library.set(line.rank, row);
        rows.push(row);
      }
      continue;
    }
    library.delete(line.rank);
    const last = rows[rows.length - 1];
    const same =
      last &&
      last.text === line.text &&
      last.error === line.error &&
      line.time - last.time < TOGETHER_S &&
      !last.members.includes(line.rank);
    if (same) {
      last.members.push(line.rank);
      continue;
    }
    const form = shape(line.text);
    if (
      fold &&
      last &&
      !line.error &&
      !last.error &&
      form.includes('#') &&
      last.shape === form
    ) {
      last.like += 1;
      if (line.rank <= Math.min(...last.members)) {
        last.text = line.text;
        last.time = line.time;
      }
      if (!last.members.includes(line.rank)) {
        last.members.push(line.rank);
      }
      continue;
    }
    rows.push({
      time: line.time,
      ranks: '',
      text: line.text,
      error: line.error,
      like: 0,
      frames: 0,
      members: [line.rank],
      shape: form
    });
  }
  return rows.map(({ members, shape: _, ...row }) => ({
    ...row,
    ranks: formatRanks(members)
  }));
}

const CELL = /File "([^"]+\.ipynb)(\[\d+\])", line (\d+)/;

/** The cell and line that a line of a traceback names. */
export function placeOf(
  text: string
): { notebook: string; cell: string; line: number } | null {
  const match = CELL.exec(text);
  return match
    ? { notebook: match[1], cell: match[2], line: Number(match[3]) }
    : null;
}

const FOLLOWS = /connection (closed by peer|reset by peer)|broken pipe/i;

/** This line only says that another rank has ended. */
export function followsFrom(text: string): boolean {
  return FOLLOWS.test(text);
}
