import { IPoint } from '../tokens';

/** Maximum number of points of a curve beside a number. */
export const CURVE = 120;

/**
 * Where the last steps are among these points, with as many points before them as a curve has; null without any.
 *
 * @returns the index of the first point, and that after the last one.
 */
export function lastSteps(
  points: readonly Pick<IPoint, 'samples' | 'overhead'>[]
): [number, number] | null {
  let end = points.length;
  while (
    end > 0 &&
    points[end - 1].samples === null &&
    points[end - 1].overhead === null
  ) {
    end--;
  }
  return end > 0 ? [Math.max(0, end - CURVE), end] : null;
}

/**
 * The points of the curves of a cluster: the latest ones while it trains, else those up to its last steps, however
 * long ago they were.
 *
 * @param current - whether steps are taken now.
 */
export function curvePoints(
  points: readonly IPoint[],
  current: boolean
): readonly IPoint[] {
  const last = current ? null : lastSteps(points);
  return last ? points.slice(...last) : points.slice(-CURVE);
}
