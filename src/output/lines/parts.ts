import { ILine, linesOf } from './lines';

/** Which output is shown: of all ranks together, by rank, or of one. */
export type Choice = 'together' | 'by rank' | number;

/**
 * Tells which text of ranks stands above what they display, and which below.
 *
 * An output has parts: text, then displays; then the text that came after these, and so on. Each rank's own order is
 * kept. Ranks that display the same in the same order have the same parts, whichever of them is ahead; one that
 * displays nothing prints into the part that the others have come to.
 */
export class Parts {
  /**
   * @param _displaying - ranks that display anything.
   */
  constructor(private _displaying: ReadonlySet<number>) {}

  /** The part of a line that some ranks have printed; without a rank, of nobody in particular. */
  text(ranks: readonly number[]): number {
    const own = ranks.filter(rank => this._displaying.has(rank));
    const from = own.length ? own : [...this._displaying];
    const part = Math.max(
      0,
      ...from.map(rank => this._next(rank)),
      ...ranks.map(rank => this._at.get(rank) ?? 0)
    );
    for (const rank of ranks) {
      this._at.set(rank, part);
      this._shown.delete(rank);
    }
    return part;
  }

  /** The part of what a rank displays. */
  display(rank: number): number {
    this._shown.add(rank);
    return this._at.get(rank) ?? 0;
  }

  private _next(rank: number): number {
    return (this._at.get(rank) ?? 0) + (this._shown.has(rank) ? 1 : 0);
  }

  /** Rank → the part that it has come to. */
  private _at = new Map<number, number>();
  /** Ranks that have displayed something in their part. */
  private _shown = new Set<number>();
}

/** Text that stands between displays, and where. */
export interface IBlock {
  /** Whose it is; null for all. */
  rank: number | null;
  lines: readonly ILine[];
  /** As CSS has it. */
  order: number;
  /** The last one of its rank. */
  last: boolean;
}

/** Ranks in a part: figures, then what is wide, then the next part's text. */
export const WIDE = 5000;
const STEP = 2 * WIDE + 1;

/** Where what stands in a part begins: by rank, all parts of a rank come before those of the next one. */
export function orderOf(
  part: number,
  parts: number,
  rank: number,
  choice: Choice,
  ranks: readonly number[]
): number {
  const before = choice === 'by rank' ? ranks.indexOf(rank) * parts : 0;
  return (before + part) * STEP + 1;
}

/** How many parts there are. */
export function countParts(lines: readonly ILine[]): number {
  return lines.reduce((most, { part }) => Math.max(most, part ?? 0), 0) + 1;
}

/** The text that does not stand above all displays. */
export function blocksOf(
  lines: readonly ILine[],
  choice: Choice,
  ranks: readonly number[]
): IBlock[] {
  const parts = countParts(lines);
  const whose = choice === 'by rank' ? ranks : [choice];
  return whose.flatMap(who => {
    const rank = typeof who === 'number' ? who : null;
    const own = rank === null ? lines : linesOf(lines, rank);
    const blocks: IBlock[] = [];
    for (let part = choice === 'by rank' ? 0 : 1; part < parts; part++) {
      const here = own.filter(line => (line.part ?? 0) === part);
      if (here.length) {
        const order = orderOf(part, parts, rank ?? 0, choice, ranks) - 1;
        blocks.push({ rank, lines: here, order, last: false });
      }
    }
    return blocks.map((block, i) => ({
      ...block,
      last: i === blocks.length - 1
    }));
  });
}
