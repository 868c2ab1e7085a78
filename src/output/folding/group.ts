import { ILine, IPlace, IRange } from '../lines/lines';
import { INumber } from '../lines/numbers';
import { IFamily } from './positions';
import { IStep } from './steps';
import { differing, IRead, MOST_LISTED, Values } from './values';

/** Lines that are displayed as one. */
export interface IFolded<T extends ILine> {
  /** One line for all: the lowest rank's, with all ranks, and the range of what differs. */
  line: ILine;
  /** The lines, in the order in which they came. */
  of: readonly T[];
}

/** Lines of different ranks that are displayed as one. */
export class Group<T extends ILine> {
  constructor(
    readonly shape: string,
    /** Key that adjacent groups share if they are sorted by rank. */
    readonly like: string | null,
    /** Key that groups share whose first lines are equal. */
    readonly same: string,
    readonly first: IRun<T>,
    private _may: IMay<T>
  ) {
    this.error = first.line.error;
    this._add(first);
  }

  /**
   * Add a line of other ranks if all lines then differ in at most one number, or in several positions that
   * have the same integer within each line, each rank has printed as many such lines before, and they can be of one step.
   */
  take(last: IRun<T>): boolean {
    const { line, numbers } = last;
    const { first } = this;
    if (
      line.ranks.some(rank => this.ranks.has(rank)) ||
      !this._may.fold(first.line, line)
    ) {
      return false;
    }
    const differ = differing(this._at, first.numbers, numbers);
    if (
      differ === null ||
      (differ.length &&
        !(
          this._may.differ(first, last, differ) &&
          this._valuesAt(differ).fits(last)
        ))
    ) {
      return false;
    }
    this._at = differ;
    this._add(last);
    return true;
  }

  folded(): IFolded<T> {
    return { line: this._line(), of: this._run.map(({ line }) => line) };
  }

  private _line(): ILine {
    if (this._run.length === 1) {
      return this._run[0].line;
    }
    const run = [...this._run].sort(
      (a, b) => a.line.ranks[0] - b.line.ranks[0]
    );
    const ranks = run.flatMap(r => r.line.ranks).sort((a, b) => a - b);
    const [{ line, numbers }] = run;
    const own = ownOf(run);
    if (!this._at.length) {
      return { ...line, ranks, range: own ?? undefined };
    }
    const [at, ...more] = this._at;
    const all = run.map(r => r.numbers[at]);
    const sorted = [...all].sort((a, b) => a.value - b.value);
    const { start, end } = numbers[at];
    const rest = line.text.slice(end);
    const [low, high] = [sorted[0].text, sorted[sorted.length - 1].text];
    const whole = all.every(n => n.whole);
    const range: IRange = {
      start,
      end,
      low,
      high,
      also: more.map(i => numbers[i]),
      inline: whole
        ? (inLine(run, at) ?? `${low} to ${high}`)
        : /^\s*[a-zµ%/]{0,8}\.?$/i.test(rest)
          ? null
          : `${low}…${high}`,
      own: own ?? undefined
    };
    return { ...line, ranks, range };
  }

  /** Position among the groups. */
  at = 0;
  readonly error: boolean;
  readonly ranks = new Set<number>();

  private _add(last: IRun<T>): void {
    this._run.push(last);
    last.line.ranks.forEach(rank => this.ranks.add(rank));
    this._values.forEach(values => values.add(last));
  }

  /** The values of the lines at indices of numbers in which they differ, or would with a further line. */
  private _valuesAt(differ: readonly number[]): Values {
    const key = differ.join();
    const values = this._values.get(key) ?? new Values(differ, this._run);
    this._values.set(key, values);
    return values;
  }

  /** Indices of the numbers that differ. */
  private _at: readonly number[] = [];
  private _run: IRun<T>[] = [];
  /** Indices of numbers → the values there. */
  private _values = new Map<string, Values>();
}

/** A line of a group. */
export interface IRun<T extends ILine> extends IRead, IStep {
  line: T;
  own: INumber | null;
  families: readonly IFamily[];
}

/** What else decides whether lines become one. */
export interface IMay<T extends ILine> {
  /** Whether two lines may be folded. */
  fold: (one: T, other: T) => boolean;
  /** Whether they may differ in the numbers at these indices. */
  differ: (one: IRun<T>, other: IRun<T>, at: readonly number[]) => boolean;
}

/** The ranks that name themselves in the lines of a group; null if they don't. */
function ownOf(run: readonly IRun<ILine>[]): IPlace | null {
  const of = run.flatMap(({ line, own }) =>
    own ? [{ rank: line.ranks[0], of: own }] : []
  );
  if (!of.length) {
    return null;
  }
  const [low, high] = [of[0].of.text, of[of.length - 1].of.text];
  const { start, end } = of[0].of;
  return { start, end, low, high, inline: counts(of) ?? `${low} to ${high}` };
}

/** The numbers of all ranks in one line; null if a rank's number could not be read from it. */
function inLine(run: readonly IRun<ILine>[], at: number): string | null {
  return counts(atRanks(run, at));
}

/** A rank, and its number at a position of a line. */
interface IRankNumber {
  rank: number;
  of: INumber;
}

/** The numbers of all ranks at a position, in the order of the ranks. */
function atRanks(run: readonly IRun<ILine>[], at: number): IRankNumber[] {
  return run
    .flatMap(({ line, numbers }) =>
      line.ranks.map(rank => ({ rank, of: numbers[at] }))
    )
    .sort((a, b) => a.rank - b.rank);
}

/**
 * Integers of several ranks in one line, in the order of the ranks: "0…3" only if they grow by one from each of these
 * ranks to the next, so that nobody reads it as a range that holds others; else "1, 1, 0, 3" or "15, 30", and null if there
 * are many.
 */
function counts(all: readonly IRankNumber[]): string | null {
  const [first, last] = [all[0], all[all.length - 1]];
  const inRow = all.every((n, i) => n.of.value === first.of.value + i);
  if (inRow) {
    return `${first.of.text}…${last.of.text}`;
  }
  return all.length <= MOST_LISTED ? all.map(n => n.of.text).join(', ') : null;
}
