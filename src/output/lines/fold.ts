import { ILine, IRange, parseBar } from './lines';
import { INumber, near, numbersOf } from './numbers';
import { Order } from './order';
import { IPositions, Positions, samePosition } from './positions';

/** Lines of different ranks that are displayed as one. */
class Group {
  constructor(
    readonly shape: string,
    /** Key that adjacent groups share if they are sorted by rank. */
    readonly like: string,
    first: IRun
  ) {
    this.error = first.line.error;
    this._add(first);
  }

  /**
   * Add a line of other ranks if all lines then differ in at most one number, or in several positions that
   * have the same integer within each line, and each rank has printed as many such lines before.
   */
  take(last: IRun): boolean {
    const { line, numbers } = last;
    if (line.ranks.some(rank => this.ranks.has(rank))) {
      return false;
    }
    const differ = differing(this._at, this._run, numbers);
    if (differ === null) {
      return false;
    }
    if (differ.length) {
      const all = [...this._run, last];
      const values = all.map(r => r.numbers[differ[0]].value);
      const whole = all.every(r => r.numbers[differ[0]].whole);
      const close = near(Math.min(...values), Math.max(...values), whole);
      if (
        !close ||
        !samePosition(
          all.map(r => r.positions),
          differ
        ) ||
        (differ.length > 1 && inLine(all, differ[0]) === null)
      ) {
        return false;
      }
    }
    this._at = differ;
    this._add(last);
    return true;
  }

  /** One line for all: the lowest rank's, with the range of what differs. */
  line(): ILine {
    if (this._run.length === 1) {
      return this._run[0].line;
    }
    const run = [...this._run].sort(
      (a, b) => a.line.ranks[0] - b.line.ranks[0]
    );
    const ranks = run.flatMap(r => r.line.ranks).sort((a, b) => a - b);
    const [{ line, numbers }] = run;
    if (!this._at.length) {
      return { ...line, ranks };
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
          : `${low}…${high}`
    };
    return { ...line, ranks, range };
  }

  /** Position among the groups. */
  at = 0;
  readonly error: boolean;
  readonly ranks = new Set<number>();

  private _add(last: IRun): void {
    this._run.push(last);
    last.line.ranks.forEach(rank => this.ranks.add(rank));
  }

  /** Indices of the numbers that differ. */
  private _at: readonly number[] = [];
  private _run: IRun[] = [];
}

/** A line of a group. */
interface IRun {
  line: ILine;
  numbers: readonly INumber[];
  positions: IPositions;
}

/** The numbers of all ranks in one line; null if a rank's number could not be read from it. */
function inLine(run: readonly IRun[], at: number): string | null {
  return counts(
    run.flatMap(({ line, numbers }) =>
      line.ranks.map(rank => ({ rank, of: numbers[at] }))
    )
  );
}

/**
 * Indices of the numbers in which lines differ, if they can be folded: it is one number, or each line has the
 * same integer at all of these positions, as in "from 0 step 1 0". Null if they can't be folded.
 *
 * @param before - indices in which the lines differ without the last one
 * @param run - the lines without the last one
 * @param last - numbers of the last line
 */
export function differing(
  before: readonly number[],
  run: readonly { numbers: readonly INumber[] }[],
  last: readonly INumber[]
): readonly number[] | null {
  const [first] = run;
  const now = last.flatMap((n, i) =>
    n.text !== first.numbers[i].text || before.includes(i) ? [i] : []
  );
  const same = (numbers: readonly INumber[]): boolean =>
    now.every(
      i => numbers[i].whole && numbers[i].text === numbers[now[0]].text
    );
  if (now.length < 2) {
    return now;
  }
  const grows = now.length > before.length;
  return same(last) && (!grows || run.every(r => same(r.numbers))) ? now : null;
}

/** Maximum number of ranks whose integers are listed one by one if they have no order. */
const MOST_LISTED = 8;

/**
 * Integers of several ranks in one line: "0…3" only if they grow evenly with the rank, so that each rank's
 * can be derived; else "1, 1, 0, 3" in the order of the ranks, and null if there are many.
 */
export function counts(
  of: readonly { rank: number; of: INumber }[]
): string | null {
  const all = [...of].sort((a, b) => a.rank - b.rank);
  const [first, last] = [all[0], all[all.length - 1]];
  const each = (last.of.value - first.of.value) / (last.rank - first.rank);
  const even = all.every(
    n => n.of.value === first.of.value + each * (n.rank - first.rank)
  );
  if (even && each > 0) {
    return `${first.of.text}…${last.of.text}`;
  }
  return all.length <= MOST_LISTED ? all.map(n => n.of.text).join(', ') : null;
}

/** Number of groups of a shape with which a line is compared. */
const MOST_COMPARED = 64;

/**
 * Fold lines of different ranks that differ in one number, or in an integer that occurs at several places, into
 * the lowest rank's.
 *
 * "epoch 0 loss 2.137" of rank 0 and "epoch 0 loss 2.180" of rank 1 become one line, also if other lines came
 * between. A rank's first line of a kind is folded with the first ones of other ranks, its second with their
 * second ones, also where the first ones differed too much. Each rank's lines keep their order within stdout and within stderr. Numbers that differ independently
 * are not replaced by ranges, so that no combination is shown that no rank has printed.
 */
export function foldLines(lines: readonly ILine[]): ILine[] {
  const order = new Order<Group>();
  const counted = new Positions();
  for (const line of lines) {
    const numbers = line.ranks.length ? numbersOf(line.text) : [];
    const shape = `${line.error}${shapeOf(line.text, numbers)}`;
    // lines without a rank are not folded
    const positions = counted.add(line.ranks, shape, numbers);
    const last = { line, numbers, positions };
    const take = (group: Group): boolean => group.take(last);
    const known = line.ranks.length
      ? order.find(shape, line, take, MOST_COMPARED)
      : null;
    const bar = known || !line.ranks.length ? null : parseBar(line.text);
    const like = bar ? `bar ${bar.label}` : shape;
    order.note(line, known ?? order.push(new Group(shape, like, last)));
  }
  return inRankOrder(order.all).map(group => group.line());
}

/** Sort adjacent lines that differ in numbers only, and states of one progress bar, by rank, not arrival. */
function inRankOrder(groups: readonly Group[]): Group[] {
  const found: Group[] = [];
  let run: Group[] = [];
  const end = (): void => {
    const first = (group: Group): number => Math.min(...group.ranks);
    found.push(...run.sort((a, b) => first(a) - first(b)));
    run = [];
  };
  for (const group of groups) {
    const next =
      group.ranks.size > 0 &&
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

function shapeOf(text: string, numbers: readonly INumber[]): string {
  let shape = '';
  let from = 0;
  for (const { start, end } of numbers) {
    shape += `${text.slice(from, start)}\u0000`;
    from = end;
  }
  return shape + text.slice(from);
}
