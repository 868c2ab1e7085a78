import {
  formatClock,
  formatDigits,
  formatTime,
  formatValue
} from '../../metrics/format';
import { ITick, roundTime } from '../../ui/charts/ticks';

/**
 * Minimum distance from a tick to the end of the axis, in halves of a time's width, if there is a word at the
 * end.
 */
const BEFORE_WORD = 1.6;
/** Number of ticks that fit. */
const MOST_TICKS = 6;

/**
 * Ticks of a time axis: round times in the user's format, and "now" at the right end.
 *
 * @param from beginning of the axis, s.
 * @param to its end, s.
 * @param end text at the end; for an ended job its time.
 * @param ticks as many as there is room for.
 * @param free seconds left free at the beginning, and at an end without a word, so that no label is cut or
 * touches text left of the axis.
 */
export function timeTicks(
  from: number,
  to: number,
  end: string | null,
  ticks = MOST_TICKS,
  free = 0
): ITick[] {
  const step = roundTime((to - from) / Math.min(ticks, MOST_TICKS));
  const marks: ITick[] = [];
  // a tick that would touch the word at the end is omitted: half a time and half a word have to fit between
  // them
  const last =
    end === null ? to - free : to - Math.max(step * 0.6, free * BEFORE_WORD);
  const first = Math.ceil((from + free) / step) * step;
  for (let at = first; at <= last; at += step) {
    marks.push({ at, label: formatClock(at * 1000, step < 60) });
  }
  if (!marks.length && (end === null || from + free <= last)) {
    // no round time fits: another time is better than none
    const at = Math.round((from + free + last) / 2);
    marks.push({ at, label: formatClock(at * 1000, true) });
  }
  return end === null ? marks : [...marks, { at: to, label: end }];
}

/** Width of a time below an axis with the space beside it, px. */
const TICK_WIDTH = 76;

/**
 * Ticks of a time axis that have room beside each other.
 *
 * @param from - beginning of the axis, s.
 * @param to - its end, s.
 * @param end - text at the end; null for its time.
 * @param width - of the axis, px.
 */
export function fittingTicks(
  from: number,
  to: number,
  end: string | null,
  width: number
): ITick[] {
  const plotted = Math.max(1, width);
  const room = Math.max(2, Math.floor(plotted / TICK_WIDTH));
  const free = ((to - from) * TICK_WIDTH) / 2 / plotted;
  return timeTicks(from, to, end, room, free);
}

/**
 * The two ends of a time axis that has no room for times between them.
 *
 * @param from beginning of the axis, s.
 * @param to its end, s.
 * @param end text at the end; null for its time, or what it is later by where both times read the same.
 */
export function edgeTicks(
  from: number,
  to: number,
  end: string | null
): ITick[] {
  const clock = (at: number): string => formatClock(at * 1000, true);
  const since = `+${formatTime(to - from)}`;
  const later = clock(to) === clock(from) ? since : clock(to);
  return [
    { at: from, label: clock(from) },
    end === null
      ? { at: to, label: later, short: since }
      : { at: to, label: end }
  ];
}

/** The top of a value axis from 0, above all values; its half also has one significant digit. */
export function niceTop(most: number): number {
  if (!(most > 0)) {
    return 1;
  }
  const power = 10 ** Math.floor(Math.log10(most));
  const factor = [1, 2, 4, 6, 8, 10].find(f => f * power >= most);
  return (factor ?? 10) * power;
}

/** The ends of a value axis, which includes 0 and all values. */
export function valueRange(least: number, most: number): [number, number] {
  return least < 0
    ? [-niceTop(-least), most > 0 ? niceTop(most) : 0]
    : [0, niceTop(most)];
}

/** Values that change by less than this share of the largest one get an axis that doesn't begin at 0. */
const NARROW = 0.5;

/**
 * The ends of an axis for values whose change counts, such as a loss from 2.33 to 2.2: around the values where they
 * are narrow and far from 0, else as `valueRange`. Both halves are of a round length, and no two labels are equal.
 */
export function changeRange(least: number, most: number): [number, number] {
  const span = most - least;
  if (!(least > 0 && span > 0 && span < most * NARROW)) {
    return valueRange(least, most);
  }
  // labels have three digits; a little above the largest value, where 9.99 becomes 10
  let power = 10 ** Math.floor(Math.log10(most * 1.02) - 2);
  for (; ; power *= 10) {
    for (const factor of [1, 2, 5]) {
      const step = factor * power;
      const from = Math.floor(least / step);
      if ((from + 2) * step >= most) {
        return [from * step, (from + 2) * step];
      }
    }
  }
}

/** Labels of a value axis: its ends, and 0 or its middle. */
export function valueTicks(from: number, to: number): number[] {
  return [from, from < 0 && to > 0 ? 0 : (from + to) / 2, to];
}

/** A short number for an axis: 0, 5k, 10k, 1.2M, 0.25, and 2e-6 as in the heading. */
export function formatTick(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) {
    return `${formatDigits(value / 1e6, 3, false)}M`;
  }
  if (size >= 1e3) {
    return `${formatDigits(value / 1e3, 3, false)}k`;
  }
  return size < 1e-3 ? formatValue(value, 3) : formatDigits(value, 3, false);
}

/**
 * Space for the labels of a value axis: the usual one, so that the times of charts are aligned, or as much as the
 * widest label needs.
 *
 * @param usual px, as are the others.
 * @param gap between the labels and the chart.
 */
export function labelSpace(
  labels: readonly string[],
  usual: number,
  gap: number,
  width: (label: string) => number
): number {
  return Math.max(usual, ...labels.map(label => Math.ceil(width(label)) + gap));
}
