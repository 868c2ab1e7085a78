/** The number that differs in a line: its position, and the lowest and highest value that ranks printed. */
export interface IRange {
  start: number;
  end: number;
  /** Further positions, after it, at which each rank printed the same number. */
  also?: readonly { start: number; end: number }[];
  low: string;
  high: string;
  /** Text that replaces the number; null if the range follows the line, as in "2.137 (2.101 to 2.180)". */
  inline: string | null;
}

/** A line as the kernel writes it: the ranks that printed it, and its text. */
export interface ILine {
  ranks: readonly number[];
  text: string;
  error: boolean;
  /** Index of its part of the output, as in `Parts`; 0 by default. */
  part?: number;
  /** If lines of other ranks were folded into this one: the number that differs, and its range. */
  range?: IRange;
}

/** The ranks of a line, before its text. */
export const LABEL = /^\[(\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)\] ?/;

/** "0,2-3" as ranks. */
export function parseRanks(text: string): number[] {
  return text.split(',').flatMap(span => {
    const [first, last] = span.split('-').map(Number);
    const count = (last ?? first) - first + 1;
    return Array.from({ length: count }, (_, i) => first + i);
  });
}

/** Maximum length of a text that its lines may keep alive. */
const MOST_SHARED = 4096;

/**
 * Lines with their own memory. A substring keeps the whole string alive, and the page keeps each line as it
 * was first drawn: thousands of lines held hundreds of versions of the whole output.
 */
function apart(rows: string[]): string[] {
  return JSON.parse(JSON.stringify(rows)) as string[];
}

/** Split labelled text into lines; a line without a label belongs to no rank. */
export function parseLines(text: string, error: boolean): ILine[] {
  const rows = text.split('\n');
  if (rows[rows.length - 1] === '') {
    rows.pop();
  }
  return (text.length > MOST_SHARED ? apart(rows) : rows).map(row => {
    const match = LABEL.exec(row);
    return match
      ? {
          ranks: parseRanks(match[1]),
          text: row.slice(match[0].length),
          error
        }
      : { ranks: [], text: row, error };
  });
}

/** The lines of one rank. */
export function linesOf(lines: readonly ILine[], rank: number): ILine[] {
  return lines.filter(l => !l.ranks.length || l.ranks.includes(rank));
}

/** A parsed progress bar. */
export interface IBar {
  /** Its description; empty if it has none. */
  label: string;
  share: number;
  /** Progress: "160/250". */
  count: string;
  /** tqdm's times: "00:01<00:02, 57 it/s". */
  rest: string;
}

const BAR =
  /^(.*?):?\s*(\d{1,3})%\s*\|[^|]*\|?\s*([\d.,kMGTB]+\/[\d.,kMGTB]+)?\s*(?:\[(.*?)\]?)?\s*$/;

/** A longer text is not a bar; parsing takes quadratic time. */
const MOST_BAR = 1000;

/** Parse a progress bar; null if the text is not one. */
export function parseBar(text: string): IBar | null {
  const match = text.length > MOST_BAR ? null : BAR.exec(text);
  return match
    ? {
        label: match[1].trim(),
        share: Math.min(1, Number(match[2]) / 100),
        count: match[3] ?? '',
        rest: match[4] ?? ''
      }
    : null;
}
