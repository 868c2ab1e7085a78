import { INumber } from '../lines/numbers';

/** A rank is behind in earnest from so many lines on; with fewer, its lines are on their way. */
const BEHIND = 2;

/** A number of lines that are alike: whether it counts what all ranks count, as "step 5". */
class Count {
  /**
   * Add a number.
   *
   * @param position - how many such lines its rank has printed before
   * @param before - the number in the rank's line before; undefined if this is the first
   */
  add({ value, whole }: INumber, position: number, before?: number): void {
    this._whole &&= whole;
    if (!this._whole) {
      return;
    }
    if (before !== undefined) {
      this._ups += value > before ? 1 : 0;
      this._downs += value < before ? 1 : 0;
      this._stays += value === before ? 1 : 0;
    }
    if (position === this._first.length) {
      this._first.push(value);
      this._known.add(value);
      this._crossings += this._ahead.get(value) ?? 0;
      this._ahead.delete(value);
    } else if (this._first[position] !== value) {
      this._mismatches++;
      if (this._known.has(value)) {
        this._crossings++;
      } else {
        this._expect(value);
        // the rank that was here first may be the one that prints few steps
        this._expect(this._first[position]);
      }
    }
  }

  private _expect(value: number): void {
    this._ahead.set(value, (this._ahead.get(value) ?? 0) + 1);
  }

  /** Whether each rank counts up, or down: it may start again for each epoch. */
  get isSteady(): boolean {
    return (
      this._whole &&
      (this._ups > 3 * this._downs || this._downs > 3 * this._ups)
    );
  }

  /** Whether it tells a rank's lines apart: nearly each line has another number. */
  get isStep(): boolean {
    return this.isSteady && this._ups + this._downs > 3 * this._stays;
  }

  /**
   * Whether ranks print the same steps, but not each rank prints all of them: its k-th is not another rank's k-th. The
   * rank that prints all of them may be late: then some of its steps are no one else's.
   */
  get isShared(): boolean {
    return (
      this.isSteady &&
      this._crossings > 0 &&
      3 * this._crossings >= this._mismatches
    );
  }

  private _whole = true;
  private _ups = 0;
  private _downs = 0;
  private _stays = 0;
  /** Position → the number of the rank that reached it first. */
  private _first: number[] = [];
  /** The same numbers. */
  private _known = new Set<number>();
  /** Numbers of which another rank may still print one, at another position → number of lines with them. */
  private _ahead = new Map<number, number>();
  /** Number of lines whose number is not the one that was first at their position. */
  private _mismatches = 0;
  /** Number of those whose number was first at another position. */
  private _crossings = 0;
}

/** A rank's lines that are alike. */
interface IPrinted {
  count: number;
  /** The numbers of the last one. */
  numbers: readonly INumber[];
  /** How many the first rank had printed by then. */
  lead: number;
  /** Number of its lines before each of which it fell further behind. */
  falls: number;
}

/** Lines that differ in their numbers only. */
class Kind {
  add(ranks: readonly number[], numbers: readonly INumber[]): number {
    let most = 0;
    for (const rank of ranks) {
      const before = this._ranks.get(rank);
      const position = before?.count ?? 0;
      numbers.forEach((number, i) => {
        this._counts[i] ??= new Count();
        this._counts[i].add(number, position, before?.numbers[i].value);
      });
      const lead = (this._lead = Math.max(this._lead, position + 1));
      const behind = lead - position - 1;
      const fell =
        before && behind >= BEHIND && lead - before.lead >= BEHIND ? 1 : 0;
      const falls = (before?.falls ?? 0) + fell;
      this._ranks.set(rank, { count: position + 1, numbers, lead, falls });
      most = Math.max(most, behind);
    }
    return most;
  }

  /** Whether a rank prints more rarely than others: before most of its lines it falls further behind. */
  isRare(rank: number): boolean {
    const { falls, count } = this._ranks.get(rank)!;
    return 2 * falls > count - 1;
  }

  isShared(at: readonly number[]): boolean {
    return at.some(i => this._counts[i].isShared);
  }

  /** Whether a number before another one tells the step. */
  isStepBefore(at: number): boolean {
    return this._counts.slice(0, at).some(count => count.isStep);
  }

  /** Index of numbers → what they count. */
  private _counts: Count[] = [];
  private _ranks = new Map<number, IPrinted>();
  /** Number of lines of the rank that has printed most. */
  private _lead = 0;
}

/** A line, as far as its step is told by it. */
export interface IStep {
  line: { ranks: readonly number[] };
  shape: string;
  /** Number of such lines that its ranks were behind the first rank when it came. */
  behind: number;
}

/**
 * Tells whether lines that differ in numbers can be of one step. Ranks that execute the same loop print the same
 * lines; the k-th line of a rank belongs to the k-th of the others, however late it comes. If one rank prints each
 * step, and the others each fifth, it does not: "step 1" and "step 5" are of different moments.
 */
export class Steps {
  /**
   * Add a line, in the order in which lines came.
   *
   * @returns the number of such lines that its ranks are behind the rank that has printed most.
   */
  add(
    shape: string,
    ranks: readonly number[],
    numbers: readonly INumber[]
  ): number {
    const kind = this._kinds.get(shape) ?? new Kind();
    this._kinds.set(shape, kind);
    return kind.add(ranks, numbers);
  }

  /**
   * Whether two lines can be of one step. Call it once all lines are added.
   *
   * @param at - indices of the numbers in which they differ
   * @param repeats - whether a rank has printed several lines that differ in these numbers only
   */
  mayBeOne(
    one: IStep,
    other: IStep,
    at: readonly number[],
    repeats: boolean
  ): boolean {
    const kind = this._kinds.get(one.shape)!;
    if (kind.isShared(at)) {
      // "step 5 samples 80" and "step 5 samples 85": the step is said before
      return !repeats && kind.isStepBefore(at[0]);
    }
    return (
      !repeats ||
      !Math.max(one.behind, other.behind) ||
      kind.isRare(one.line.ranks[0]) === kind.isRare(other.line.ranks[0])
    );
  }

  /** Shape → its lines. */
  private _kinds = new Map<string, Kind>();
}
