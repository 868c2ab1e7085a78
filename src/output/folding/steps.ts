import { INumber } from '../lines/numbers';
import { Count } from './counts';
import { Pace } from './pace';

/** Lines that differ in their numbers only. */
class Kind {
  constructor(hasEnded: boolean) {
    this.pace = new Pace(hasEnded);
  }

  add(
    ranks: readonly number[],
    numbers: readonly INumber[],
    place: number
  ): void {
    this.pace.add(ranks, place);
    for (const rank of ranks) {
      const before = this._last.get(rank);
      numbers.forEach((number, i) => {
        this._counts[i] ??= new Count(number.ofStep);
        this._counts[i].add(number, rank, before?.[i].value);
      });
      this._last.set(rank, numbers);
    }
  }

  /** Whether one of these numbers may count. */
  mayCount(at: readonly number[]): boolean {
    return at.some(i => this._counts[i].mayCount);
  }

  /** Whether a number that is equal in lines that differ in these ones tells the step. */
  isStepBeside(at: readonly number[]): boolean {
    // "step 10 tokens 100" and "step 5 tokens 100": what counts is told by what is before it only
    const told = this.mayCount(at)
      ? this._counts.slice(0, at[0])
      : this._counts.filter((_, i) => !at.includes(i));
    return told.some(count => count.isStep);
  }

  readonly pace: Pace;

  /** Index of numbers → what they count. */
  private _counts: Count[] = [];
  /** Rank → the numbers of its last line. */
  private _last = new Map<number, readonly INumber[]>();
}

/** A line, as far as its step is told by it. */
export interface IStep {
  line: { ranks: readonly number[] };
  shape: string;
  numbers: readonly INumber[];
  /** How many lines that differ in numbers only its ranks have printed, with itself. */
  place: number;
}

/**
 * Tells whether lines that differ in numbers are of one step. They are not taken to be unless something says so: either
 * the same number of a step in both, or that nearly all ranks print such lines at the same pace, so that the k-th line
 * of a rank belongs to the k-th of the others, however late it comes. A number that counts, as "step 5", differs only
 * between lines of different steps.
 */
export class Steps {
  /**
   * @param _hasEnded - whether all lines are there.
   */
  constructor(private _hasEnded = false) {}

  /**
   * Add a line, in the order in which lines came.
   *
   * @param place - how many lines of its shape its ranks have printed, with itself
   */
  add(
    shape: string,
    ranks: readonly number[],
    numbers: readonly INumber[],
    place: number
  ): void {
    const kind = this._kinds.get(shape) ?? new Kind(this._hasEnded);
    this._kinds.set(shape, kind);
    kind.add(ranks, numbers, place);
  }

  /**
   * Whether two lines are of one step. Call it once all lines are added.
   *
   * @param at - indices of the numbers in which they differ
   * @param repeats - whether a rank has printed several lines that differ in these numbers only
   * @param ranks - number of ranks that print
   */
  areOne(
    one: IStep,
    other: IStep,
    at: readonly number[],
    repeats: boolean,
    ranks: number
  ): boolean {
    const kind = this._kinds.get(one.shape)!;
    if (!repeats && kind.isStepBeside(at)) {
      return true;
    }
    return (
      !kind.mayCount(at) &&
      one.place === other.place &&
      kind.pace.isShared(one.place, ranks) &&
      [one, other].every(({ line }) => line.ranks.every(kind.pace.keepsUp))
    );
  }

  /** Whether two lines may be in the order of ranks, not in that of their arrival: no number says that one is later. */
  mayBeSorted(one: IStep, other: IStep): boolean {
    if (one.shape !== other.shape) {
      return true;
    }
    const differing = one.numbers.flatMap(({ text }, i) =>
      text === other.numbers[i].text ? [] : [i]
    );
    return (
      one.place === other.place &&
      !this._kinds.get(one.shape)?.mayCount(differing)
    );
  }

  /** Shape → its lines. */
  private _kinds = new Map<string, Kind>();
}
