import { ILine, linesOf } from './lines';

/** Displayed output: of all ranks together, by rank, or of one rank. */
export type Choice = 'together' | 'by rank' | number;

/** Figures of ranks lie side by side; anything else that they display takes the width that it needs. */
export type DisplayShape = 'figure' | 'wide';

/**
 * Decides which text of ranks is above their displays, and which below.
 *
 * An output has parts: text, then figures, then other displays, then the text after these, and so on. The order of
 * each rank is kept. Ranks with the same displays in the same order have the same parts, whichever of them is ahead; text
 * of a rank without displays goes into the part that the others have reached.
 */
export class Parts {
  /**
   * @param _displaying - ranks with displays.
   */
  constructor(private _displaying: ReadonlySet<number>) {}

  /** The part of a line that some ranks have printed; the line may have no rank. */
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

  /** The part of a rank's display. */
  display(rank: number, shape: DisplayShape): number {
    const last = this._shown.get(rank);
    if (last === 'wide' && shape === 'figure') {
      this._at.set(rank, this._next(rank));
    }
    this._shown.set(rank, shape);
    return this._at.get(rank) ?? 0;
  }

  private _next(rank: number): number {
    return (this._at.get(rank) ?? 0) + (this._shown.has(rank) ? 1 : 0);
  }

  /** Rank → its current part. */
  private _at = new Map<number, number>();
  /** Rank → the shape of its last display in its current part. */
  private _shown = new Map<number, DisplayShape>();
}

/** Text between displays, and its position. */
export interface IBlock {
  /** Its rank; null for all. */
  rank: number | null;
  lines: readonly ILine[];
  /** CSS order. */
  order: number;
  /** Whether it is the last text of its rank. */
  last: boolean;
}

/** Order within a part: figures, then wide displays, then the next part's text. */
export const WIDE = 5000;
const STEP = 2 * WIDE + 1;

/**
 * First CSS order of a part: with the output by rank, all parts of a rank come before those of the next rank.
 */
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

/** Number of parts of an output's lines and displays. */
export function countParts(
  lines: readonly ILine[],
  displays: readonly number[]
): number {
  const last = displays.reduce((most, part) => Math.max(most, part), 0);
  return lines.reduce((most, { part }) => Math.max(most, part ?? 0), last) + 1;
}

/**
 * The text that is not above all displays.
 *
 * @param parts - number of parts of the lines and displays.
 */
export function blocksOf(
  lines: readonly ILine[],
  choice: Choice,
  ranks: readonly number[],
  parts: number
): IBlock[] {
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
