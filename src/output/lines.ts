/** A line as the kernel writes it: the ranks that printed it, and its text. */
export interface ILine {
  ranks: readonly number[];
  text: string;
  error: boolean;
  /** Where lines of other ranks were folded into this one: the range of the number that differs. */
  range?: string;
}

const LABEL = /^\[(\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)\] ?/;
const NUMBER = /-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi;

/** "0,2-3" as ranks. */
export function parseRanks(text: string): number[] {
  return text.split(',').flatMap(span => {
    const [first, last] = span.split('-').map(Number);
    const count = (last ?? first) - first + 1;
    return Array.from({ length: count }, (_, i) => first + i);
  });
}

/** Characters of a text that its lines may keep alive. */
const MOST_SHARED = 4096;

/**
 * Lines with a memory of their own. A piece of a string keeps all of it alive, and the page keeps each line as
 * it was first drawn: thousands of them held hundreds of versions of the whole output.
 */
function apart(rows: string[]): string[] {
  return JSON.parse(JSON.stringify(rows)) as string[];
}

/** Labelled text as lines; a line without a label belongs to no rank. */
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

/** Groups back to which a line is compared. */
const LOOK_BACK = 64;

/**
 * Fold lines of different ranks that differ only in numbers into the lowest rank's.
 *
 * "epoch 0 loss 2.137" of rank 0 and "epoch 0 loss 2.180" of rank 1 become one line with "2.137 to 2.180",
 * also where other lines came between; each rank's own lines keep their order, those of stdout and those of
 * stderr: between the two there is none.
 */
export function foldLines(lines: readonly ILine[]): ILine[] {
  const groups: { shape: string; run: ILine[]; ranks: Set<number> }[] = [];
  /** Rank and stream → index of the group that has its last line. */
  const last = new Map<string, number>();
  for (const line of lines) {
    const shape = `${line.error}${line.text.replace(NUMBER, '#')}`;
    const behind = Math.max(
      -1,
      ...line.ranks.map(r => last.get(`${r} ${line.error}`) ?? -1)
    );
    const from = Math.max(behind + 1, groups.length - LOOK_BACK);
    let at = line.ranks.length
      ? groups.findIndex(
          (g, i) =>
            i >= from &&
            g.shape === shape &&
            g.ranks.size > 0 &&
            line.ranks.every(r => !g.ranks.has(r))
        )
      : -1;
    if (at < 0) {
      at = groups.push({ shape, run: [], ranks: new Set() }) - 1;
    }
    groups[at].run.push(line);
    for (const rank of line.ranks) {
      groups[at].ranks.add(rank);
      last.set(`${rank} ${line.error}`, at);
    }
  }
  return groups.map(g => foldRun(g.run));
}

function foldRun(run: readonly ILine[]): ILine {
  if (run.length === 1) {
    return run[0];
  }
  const sorted = [...run].sort((a, b) => a.ranks[0] - b.ranks[0]);
  const ranks = sorted.flatMap(l => l.ranks);
  const numbers = sorted.map(l => l.text.match(NUMBER) ?? []);
  const at = numbers[0].findIndex((n, i) => numbers.some(m => m[i] !== n));
  if (at < 0) {
    return { ...sorted[0], ranks };
  }
  const values = numbers.map(m => m[at]).sort((a, b) => Number(a) - Number(b));
  const range = `${values[0]} to ${values[values.length - 1]}`;
  return { ...sorted[0], ranks, range };
}

/** The lines of one rank. */
export function linesOf(lines: readonly ILine[], rank: number): ILine[] {
  return lines.filter(l => !l.ranks.length || l.ranks.includes(rank));
}

/** A progress bar's share and the rest of its text; null where it shows no percentage. */
export function parseBar(text: string): { share: number; rest: string } | null {
  const match = /(\d{1,3})%\|[^|]*\|?\s*(.*)$/.exec(text);
  return match
    ? { share: Math.min(1, Number(match[1]) / 100), rest: match[2] }
    : null;
}
