import { median } from '../../ui/figures/ownTime';

/** Intervals on each side that say how far apart points usually are there. */
const NEAR = 3;
/** A gap is a distance between two points of `FACTOR` times the usual one, and of at least `LEAST_S` seconds. */
const FACTOR = 3;
const LEAST_S = 3;

/**
 * Lines with a gap wherever there is one between points: nobody knows what was between two runs.
 *
 * @param times - s, ascending
 * @param lines - a value at each time, null where it is not known
 * @returns times and lines, with a null in each gap
 */
export function withGaps(
  times: readonly number[],
  lines: readonly (readonly (number | null)[])[]
): [number[], ...(number | null)[][]] {
  const apart = times.slice(1).map((time, i) => time - times[i]);
  // older points are thinned out: those on either side may be further apart
  const usual = (i: number): number =>
    Math.max(
      median(apart.slice(Math.max(0, i - NEAR), i)) ?? 0,
      median(apart.slice(i + 1, i + 1 + NEAR)) ?? 0
    ) || Infinity;
  const gaps = apart.flatMap((seconds, i) =>
    seconds > LEAST_S && seconds > FACTOR * usual(i) ? [i] : []
  );
  if (!gaps.length) {
    return [[...times], ...lines.map(line => [...line])];
  }
  const after = new Set(gaps);
  const spread = <T>(values: readonly T[], between: (i: number) => T): T[] =>
    values.flatMap((value, i) => (after.has(i) ? [value, between(i)] : value));
  return [
    spread(times, i => (times[i] + times[i + 1]) / 2),
    ...lines.map(line => spread<number | null>(line, () => null))
  ];
}

/** Places of values that stand alone, as no line leads to them, nor from them; null where there is none. */
export function alone(
  values: readonly (number | null | undefined)[]
): number[] | null {
  const known = (i: number): boolean =>
    values[i] !== null && values[i] !== undefined;
  const found = values.flatMap((_, i) =>
    known(i) && !known(i - 1) && !known(i + 1) ? [i] : []
  );
  return found.length ? found : null;
}
