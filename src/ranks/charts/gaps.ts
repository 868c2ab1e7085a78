import { median } from '../../metrics/ownTime';

/** Number of intervals on each side from which the usual distance of points is derived. */
const NEAR = 3;
/** A gap is a distance between two points of `FACTOR` times the usual one, and of at least `LEAST_S` seconds. */
const FACTOR = 3;
const LEAST_S = 3;

/**
 * Insert gaps into lines: values between two runs are unknown.
 *
 * @param times - s, ascending
 * @param lines - a value at each time, null if unknown
 * @returns times and lines, with a null in each gap
 */
export function withGaps(
  times: readonly number[],
  lines: readonly (readonly (number | null)[])[]
): [number[], ...(number | null)[][]] {
  const apart = times.slice(1).map((time, i) => time - times[i]);
  // older points are thinned out: distances on the two sides may differ
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

/** Isolated values, which have no line to or from them; null elsewhere. */
export function alone(
  values: readonly (number | null | undefined)[]
): number[] | null {
  const hasValue = (i: number): boolean =>
    values[i] !== null && values[i] !== undefined;
  const found = values.flatMap((_, i) =>
    hasValue(i) && !hasValue(i - 1) && !hasValue(i + 1) ? [i] : []
  );
  return found.length ? found : null;
}
