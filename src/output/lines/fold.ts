import { ILine, IPlace, IRange } from './lines';
import { INumber } from './numbers';
import { Order } from './order';
import { missingAtStart } from './missing';
import { Positions } from './positions';
import { IShape, readShape } from './shape';
import { betweenGaps } from './trim';
import { differing, IRead, MOST_LISTED, Values } from './values';

/** Lines that are folded, and their order. */
export interface IFolding<T extends ILine> {
  /** What a line is folded by, as from `readShape`. */
  shape: (line: T) => IShape;
  /** Whether two lines may be folded; all may by default. */
  may?: (one: T, other: T) => boolean;
  /** Whether a line stays by itself. */
  alone?: (line: T) => boolean;
  /** When a line was printed, s, if lines before the first one are missing. */
  time?: (line: T) => number;
}

/** Lines that are displayed as one. */
export interface IFolded<T extends ILine> {
  /** One line for all: the lowest rank's, with all ranks, and the range of what differs. */
  line: ILine;
  /** The lines, in the order in which they came. */
  of: readonly T[];
}

/** Lines of different ranks that are displayed as one. */
class Group<T extends ILine> {
  constructor(
    readonly shape: string,
    /** Key that adjacent groups share if they are sorted by rank. */
    readonly like: string | null,
    first: IRun<T>,
    private _may: (one: T, other: T) => boolean
  ) {
    this.error = first.line.error;
    this._add(first);
  }

  /**
   * Add a line of other ranks if all lines then differ in at most one number, or in several positions that
   * have the same integer within each line, and each rank has printed as many such lines before.
   */
  take(last: IRun<T>): boolean {
    const { line, numbers } = last;
    const [first] = this._run;
    if (
      line.ranks.some(rank => this.ranks.has(rank)) ||
      !this._may(first.line, line)
    ) {
      return false;
    }
    const differ = differing(this._at, first.numbers, numbers);
    if (
      differ === null ||
      (differ.length && !this._valuesAt(differ).fits(last))
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
interface IRun<T extends ILine> extends IRead {
  line: T;
  own: INumber | null;
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
 * Integers of several ranks in one line, in the order of the ranks: "0…3" only if they grow by one from rank to
 * rank, so that nobody reads it as a range that holds others; else "1, 1, 0, 3" or "15, 30", and null if there
 * are many.
 */
function counts(all: readonly IRankNumber[]): string | null {
  const [first, last] = [all[0], all[all.length - 1]];
  const inRow = all.every((n, i) => n.of.value === first.of.value + i);
  const asRanks = all.every(
    n => n.of.value - first.of.value === n.rank - first.rank
  );
  if (inRow || asRanks) {
    return `${first.of.text}…${last.of.text}`;
  }
  return all.length <= MOST_LISTED ? all.map(n => n.of.text).join(', ') : null;
}

/** Number of groups of a shape with which a line is compared. */
const MOST_COMPARED = 64;

/**
 * Fold lines of different ranks that differ in one number, or in an integer that occurs at several places, into
 * the lowest rank's. The number of the rank itself, in "rank 0 epoch 1 loss 2.137", may differ besides.
 *
 * "epoch 0 loss 2.137" of rank 0 and "epoch 0 loss 2.180" of rank 1 become one line, also if other lines came
 * between. A rank's first line of a kind is folded with the first ones of other ranks, its second with their
 * second ones, also where the first ones differed too much. Each rank's lines keep their order within stdout and
 * within stderr. Numbers that differ independently are not replaced by ranges, so that no combination is shown that no
 * rank has printed.
 */
export function foldLines(lines: readonly ILine[]): ILine[] {
  const shape = ({ text, error, ranks }: ILine): IShape =>
    readShape(text, error, true, ranks);
  return betweenGaps(lines).flatMap(some =>
    fold(some, { shape }).map(({ line }) => line)
  );
}

/** Of a line that stays by itself. */
const APART = { numbers: [], own: null, shape: '', like: null, families: [] };

/** As `foldLines`, with the lines that each one stands for. */
export function fold<T extends ILine>(
  lines: readonly T[],
  { shape: shapeOf, may = () => true, alone, time }: IFolding<T>
): IFolded<T>[] {
  const order = new Order<Group<T>>();
  const all = lines.map(line => {
    // lines without a rank are not folded
    const apart = !line.ranks.length || !!alone?.(line);
    return { line, apart, read: apart ? APART : shapeOf(line) };
  });
  const counted = new Positions(
    time &&
      missingAtStart(
        all.map(({ line, read: { families } }) => ({
          ranks: line.ranks,
          families,
          time: time(line)
        }))
      )
  );
  for (const { line, apart, read } of all) {
    const { numbers, own, shape } = read;
    const positions = counted.add(line.ranks, read.families);
    const last = { line, numbers, own, positions };
    const take = (group: Group<T>): boolean => group.take(last);
    const known = apart ? null : order.find(shape, line, take, MOST_COMPARED);
    const group = known ?? order.push(new Group(shape, read.like, last, may));
    order.note(line, group);
  }
  return inRankOrder(order.all).map(group => group.folded());
}

/** A folded line as text: what differs is where its number is, or after the line. */
export function textOf({ text, range }: ILine): string {
  if (!range) {
    return text;
  }
  const { low, high, inline } = range;
  const replaced = placesOf(range).reduceRight(
    (shown, place) =>
      `${shown.slice(0, place.start)}${place.inline}${shown.slice(place.end)}`,
    text
  );
  return inline === null ? `${replaced} (${low} to ${high})` : replaced;
}

/** What is displayed in place of numbers of a folded line, from left to right. */
export function placesOf(range: IRange): IPlace[] {
  const { low, high, inline, also = [], own } = range;
  const places =
    inline === null
      ? []
      : [range, ...also].map(({ start, end }) => ({
          ...{ start, end, low, high, inline }
        }));
  return [...places, ...(own ? [own] : [])].sort((a, b) => a.start - b.start);
}

/** Sort adjacent lines that differ in numbers only, and states of one progress bar, by rank, not arrival. */
function inRankOrder<T extends ILine>(groups: readonly Group<T>[]): Group<T>[] {
  const found: Group<T>[] = [];
  let run: Group<T>[] = [];
  const end = (): void => {
    const first = (group: Group<T>): number => Math.min(...group.ranks);
    found.push(...run.sort((a, b) => first(a) - first(b)));
    run = [];
  };
  for (const group of groups) {
    const next =
      group.like !== null &&
      run[0]?.like === group.like &&
      run.every(known => [...group.ranks].every(r => !known.ranks.has(r)));
    if (!next) {
      end();
    }
    run.push(group);
  }
  end();
  return found;
}
