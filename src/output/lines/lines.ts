import { printable } from './ansi';

/** A number of a line that differs, and what is displayed in its place. */
export interface IPlace {
  start: number;
  end: number;
  /** The lowest and highest value that ranks printed. */
  low: string;
  high: string;
  inline: string;
}

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
  /** The number of each rank itself, if it differs besides. */
  own?: IPlace;
}

/** A line as the kernel writes it: the ranks that printed it, and its text. */
export interface ILine {
  ranks: readonly number[];
  text: string;
  error: boolean;
  /** Index of its part of the output, as in `Parts`; 0 by default. */
  part?: number;
  /** Number of places before it at which lines are omitted; 0 by default. */
  gap?: number;
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

/**
 * Split labelled text into lines; a line without a label belongs to no rank, and text behind a progress bar is a line
 * of its own.
 */
export function parseLines(text: string, error: boolean): ILine[] {
  const rows = text.split('\n');
  if (rows[rows.length - 1] === '') {
    rows.pop();
  }
  return (text.length > MOST_SHARED ? apart(rows) : rows).flatMap(row => {
    const match = LABEL.exec(row);
    return match
      ? withoutBar({
          ranks: parseRanks(match[1]),
          text: printable(row.slice(match[0].length)),
          error
        })
      : [{ ranks: [], text: printable(row), error }];
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

/** What each bar has; most lines are none, and this takes linear time. */
const MARK = /%\s*\|/;
/** The part of a bar before its times. */
const BAR =
  /^(.*?):?\s*(\d{1,3})%\s*\|[^|]*\|?\s*([\d.,kMGTB]+\/[\d.,kMGTB]+)?\s*(?=\[|$)/;
/** Times as tqdm writes them: text after them is no part of the bar. */
const TIMES = /^\[\d+:\d\d/;

/** A longer text is not a bar; parsing takes quadratic time. */
const MOST_BAR = 1000;

/** Matches a text that begins as a progress bar. */
function beginsBar(text: string): RegExpExecArray | null {
  return text.length <= MOST_BAR && MARK.test(text) ? BAR.exec(text) : null;
}

/** Parse a progress bar; null if the text is not one. */
export function parseBar(text: string): IBar | null {
  const match = beginsBar(text);
  if (!match) {
    return null;
  }
  const times = text.slice(match[0].length);
  const end = endOfBracket(times);
  if (times.slice(end).trim()) {
    return null;
  }
  const isClosed = times[end - 1] === ']';
  return {
    label: match[1].trim(),
    share: Math.min(1, Number(match[2]) / 100),
    count: match[3] ?? '',
    rest: times.slice(1, isClosed ? end - 1 : end).trimEnd()
  };
}

/**
 * A progress bar, and what was printed behind it in the same line, as `print` does while a bar is drawn. In a terminal,
 * the text sticks to the bar; here each is a line, so that the bar stays a bar. Null for other texts.
 */
export function splitBar(text: string): [string, string] | null {
  const match = beginsBar(text);
  const times = match ? text.slice(match[0].length) : '';
  if (!match || !TIMES.test(times)) {
    return null;
  }
  const end = endOfBracket(times);
  const rest = times.slice(end);
  return rest.trim() ? [match[0] + times.slice(0, end), rest] : null;
}

/** A line, or its bar and the text behind the bar. */
export function withoutBar<T extends { text: string }>(line: T): T[] {
  const parts = splitBar(line.text);
  return parts ? parts.map(text => ({ ...line, text })) : [line];
}

/** Index behind the bracket that closes the first one; the text's length if none does. */
function endOfBracket(text: string): number {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '[' && text[i - 1] !== '\u001b') {
      depth++;
    } else if (text[i] === ']' && !--depth) {
      return i + 1;
    }
  }
  return text.length;
}
