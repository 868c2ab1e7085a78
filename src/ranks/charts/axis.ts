import { formatClock, formatDigits } from '../../ui/figures/format';

/** Seconds between ticks of a time axis, from a quarter of a minute to a day. */
const STEPS = [
  15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200,
  86_400
];
/** As many ticks as have room beside each other. */
const MOST_TICKS = 6;

/** A tick of a time axis: when, s, and what stands below it. */
export interface ITick {
  at: number;
  label: string;
}

/**
 * Ticks of a time axis: round times in the user's way of writing them, and "now" at the right end.
 *
 * @param from beginning of the axis, s.
 * @param to its end, s.
 * @param end what stands at the end; an ended job has its time there.
 * @param ticks as many as there is room for.
 * @param free seconds at the beginning that are left free, and at an end without a word: what stands left of the
 *   axis is not touched, and no time is cut.
 */
export function timeTicks(
  from: number,
  to: number,
  end: string | null,
  ticks = MOST_TICKS,
  free = 0
): ITick[] {
  const step =
    STEPS.find(s => (to - from) / s <= Math.min(ticks, MOST_TICKS)) ??
    STEPS[STEPS.length - 1];
  const found: ITick[] = [];
  // one that would touch the word at the end is left out
  const last = end === null ? to - free : to - step * 0.6;
  const first = Math.ceil((from + free) / step) * step;
  for (let at = first; at <= last; at += step) {
    found.push({ at, label: formatClock(at * 1000, step < 60) });
  }
  if (end !== null) {
    return [...found, { at: to, label: end }];
  }
  const middle = Math.round((from + to) / 2);
  return found.length
    ? found
    : [{ at: middle, label: formatClock(middle * 1000, true) }];
}

/** The top of a value axis that begins at 0, above what is shown; its half has one digit, too. */
export function niceTop(most: number): number {
  if (!(most > 0)) {
    return 1;
  }
  const power = 10 ** Math.floor(Math.log10(most));
  const factor = [1, 2, 4, 6, 8, 10].find(f => f * power >= most);
  return (factor ?? 10) * power;
}

/** The ends of a value axis: it has 0, and all that is shown. */
export function valueRange(least: number, most: number): [number, number] {
  return least < 0
    ? [-niceTop(-least), most > 0 ? niceTop(most) : 0]
    : [0, niceTop(most)];
}

/** What stands beside a value axis: its ends, and 0 or its middle between them. */
export function valueTicks(from: number, to: number): number[] {
  return [from, from < 0 && to > 0 ? 0 : (from + to) / 2, to];
}

/** A number beside an axis, as short as can be: 0, 5k, 10k, 1.2M, 0.25. */
export function formatTick(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) {
    return `${formatDigits(value / 1e6, 3, false)}M`;
  }
  if (size >= 1e3) {
    return `${formatDigits(value / 1e3, 3, false)}k`;
  }
  return formatDigits(value, 3, false);
}

/**
 * Do names of marks stand at the top of a plot? They do where what is drawn beside them stays low.
 *
 * @param names x where each begins and how wide it is, pixels.
 * @param drawn x, and the height of what is drawn there as a share of the plot's.
 */
export function namesStandHigh(
  names: readonly { from: number; width: number }[],
  drawn: readonly { x: number; height: number }[]
): boolean {
  const beside = drawn.filter(({ x }) =>
    names.some(({ from, width }) => x >= from && x <= from + width)
  );
  return beside.length > 0 && beside.every(({ height }) => height < 0.6);
}

/** A mark's name: where it stands, and in which row, so that no two cover each other. */
export interface IPlaced {
  from: number;
  row: number;
}

/**
 * Places for names beside their lines.
 *
 * @param names x of each line and width of its name, pixels, from left to right.
 * @param left where the plot begins.
 * @param right where it ends.
 * @param rows rows of names that have room; a name without one is left out: null.
 */
export function placeNames(
  names: readonly { x: number; width: number }[],
  left: number,
  right: number,
  rows: number
): (IPlaced | null)[] {
  const free = Array.from({ length: rows }, () => left);
  return names.map(({ x, width }) => {
    const fits = x + width + 6 <= right;
    const from = fits ? x + 5 : Math.max(left, x - width - 5);
    const row = free.findIndex(end => end <= from);
    if (row < 0) {
      return null;
    }
    free[row] = from + width + 6;
    return { from, row };
  });
}
