import { INumber } from '../lines/numbers';

/**
 * Positions of a line among the lines of its ranks: indices of numbers, such as "0,2" → how many lines that
 * differ from it in these numbers only its ranks have printed, with itself.
 */
export type IPositions = ReadonlyMap<string, number>;

/** Maximum number of equal integers in a line of which each choice is counted. */
const MOST_EQUAL = 4;

/** Lines that differ in some numbers only. */
export interface IFamily {
  /** Indices of these numbers. */
  key: string;
  /** The rest of the line, and its stream. */
  rest: string;
}

/** Rest of lines → rank → how many of its lines are missing at the beginning. */
export type Missing = ReadonlyMap<string, ReadonlyMap<number, number>>;

/** The families of a line: it may differ from lines of other ranks in several choices of numbers. */
export function familiesOf(
  shape: string,
  numbers: readonly INumber[]
): IFamily[] {
  const all = numbers.map((_, i) => i);
  const some = choices(numbers);
  const key = keyOfAll(numbers);
  if (all.length && some.every(at => at.join() !== key)) {
    some.push(all);
  }
  return some.map(at => {
    const rest = numbers.map(({ text }, i) => (at.includes(i) ? '' : text));
    const key = at.join();
    return { key, rest: [shape, key, ...rest].join('\u0000') };
  });
}

/** Key of the family in which lines may differ in all numbers. */
export function keyOfAll(numbers: readonly INumber[]): string {
  return numbers.map((_, i) => i).join();
}

/** Counts the lines of each rank that differ in some numbers only. */
export class Positions {
  /**
   * @param _missing - lines that are missing at the beginning.
   */
  constructor(private _missing: Missing = new Map()) {}

  /**
   * Count a line.
   *
   * @param ranks - ranks that have printed it; from there on, these ranks have the same position.
   * @param families - its families.
   * @returns its positions.
   */
  add(ranks: readonly number[], families: readonly IFamily[]): IPositions {
    const positions = new Map<string, number>();
    for (const { key, rest } of families) {
      const counts =
        this._counts.get(rest) ??
        new Map<number, number>(this._missing.get(rest));
      this._counts.set(rest, counts);
      const position =
        1 + Math.max(0, ...ranks.map(rank => counts.get(rank) ?? 0));
      ranks.forEach(rank => counts.set(rank, position));
      if (position > 1) {
        this._repeated.add(rest);
      }
      positions.set(key, position);
    }
    return positions;
  }

  /**
   * Whether a rank has printed several of the lines that differ in the numbers at these indices only.
   *
   * @param families - the families of one of them.
   */
  repeats(families: readonly IFamily[], at: readonly number[]): boolean {
    const key = at.join();
    return families.some(
      family => family.key === key && this._repeated.has(family.rest)
    );
  }

  /** Texts of lines without some numbers that a rank has printed several of. */
  private _repeated = new Set<string>();
  /** Text of lines without some numbers → rank → number of its lines. */
  private _counts = new Map<string, Map<number, number>>();
}

/** Numbers in which another rank's line may differ: any one, or an integer that occurs several times. */
function choices(numbers: readonly INumber[]): number[][] {
  const positions = numbers.map((_, i) => [i]);
  const equal = new Map<string, number[]>();
  numbers.forEach(({ text, whole }, i) => {
    if (whole) {
      equal.set(text, [...(equal.get(text) ?? []), i]);
    }
  });
  for (const at of equal.values()) {
    if (at.length > 1 && at.length <= MOST_EQUAL) {
      for (let bits = 1; bits < 1 << at.length; bits++) {
        const some = at.filter((_, i) => bits & (1 << i));
        if (some.length > 1) {
          positions.push(some);
        }
      }
    }
  }
  return positions;
}
