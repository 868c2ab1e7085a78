import { Group, IFolded, IMay, IRun } from './group';
import { ILine, IPlace, IRange } from '../lines/lines';
import { missingAtStart } from './missing';
import { Order } from './order';
import { keyOfAll, Positions } from './positions';
import { IShape, readShape } from './shape';
import { Steps } from './steps';
import { betweenGaps } from '../lines/trim';

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
  /** Number of ranks that may print; by default, of those that do. */
  world?: number;
  /** Whether all lines are there: no rank is to print one that it has not printed yet. */
  hasEnded?: boolean;
}

/** Number of groups of a shape with which a line is compared. */
const MOST_COMPARED = 64;

/**
 * Fold lines of different ranks that differ in one number, or in an integer that occurs at several places, into
 * the lowest rank's. The number of the rank itself, in "rank 0 epoch 1 loss 2.137", may differ besides.
 *
 * "epoch 0 loss 2.137" of rank 0 and "epoch 0 loss 2.180" of rank 1 become one line, also if other lines came
 * between; "step 1" of one rank and "step 5" of another don't. Where no number tells the step, a
 * rank's first line of a kind is folded with the first ones of other ranks, its second with their
 * second ones, also where the first ones differed too much; but only if nearly all ranks print them at the same pace. Each rank's lines keep their order within stdout and
 * within stderr. Numbers that differ independently are not replaced by ranges, so that no combination is shown that no
 * rank has printed.
 *
 * @param world - number of ranks that may print; by default, of those that do
 * @param isDone - whether the ranks have printed all that they were to print
 */
export function foldLines(
  lines: readonly ILine[],
  world?: number,
  isDone = false
): ILine[] {
  const shape = ({ text, error, ranks }: ILine): IShape =>
    readShape(text, error, true, ranks);
  const pieces = betweenGaps(lines);
  // where lines are omitted, a rank's number of lines is not known
  const hasEnded = isDone && pieces.length === 1;
  return pieces.flatMap(some =>
    fold(some, { shape, world, hasEnded }).map(({ line }) => line)
  );
}

/** Of a line that stays by itself. */
const APART = { numbers: [], own: null, shape: '', like: null, families: [] };

/** As `foldLines`, with the lines that each one stands for. */
export function fold<T extends ILine>(
  lines: readonly T[],
  {
    shape: shapeOf,
    may = () => true,
    alone,
    time,
    world = 0,
    hasEnded
  }: IFolding<T>
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
  const steps = new Steps(hasEnded);
  const printing = Math.max(
    world,
    new Set(lines.flatMap(line => line.ranks)).size
  );
  const runs = all.map(({ line, apart, read }): IRun<T> => {
    const { numbers, own, shape, families } = read;
    const positions = counted.add(line.ranks, families);
    const place = positions.get(keyOfAll(numbers)) ?? 0;
    if (!apart) {
      steps.add(shape, line.ranks, numbers, place);
    }
    return { line, shape, numbers, own, families, positions, place };
  });
  const mayBe: IMay<T> = {
    fold: may,
    differ: (one, other, at) =>
      steps.areOne(
        one,
        other,
        at,
        counted.repeats(other.families, at),
        printing
      )
  };
  runs.forEach((last, i) => {
    const { line, shape, numbers } = last;
    const { apart, read } = all[i];
    const same = [shape, ...numbers.map(({ text }) => text)].join('\u0000');
    const take = (group: Group<T>): boolean => group.take(last);
    const known = apart
      ? null
      : order.find({ ...line, shape, same }, take, MOST_COMPARED);
    const group =
      known ?? order.push(new Group(shape, read.like, same, last, mayBe));
    order.note(line, group);
  });
  return inRankOrder(order.all, steps).map(group => group.folded());
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
function inRankOrder<T extends ILine>(
  groups: readonly Group<T>[],
  steps: Steps
): Group<T>[] {
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
      steps.mayBeSorted(run[0].first, group.first) &&
      run.every(known => [...group.ranks].every(r => !known.ranks.has(r)));
    if (!next) {
      end();
    }
    run.push(group);
  }
  end();
  return found;
}
