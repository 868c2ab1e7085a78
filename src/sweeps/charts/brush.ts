import { Sweep, Trial } from '../../tokens';
import { IScale, scaleOf, scaleOfValues, valuesOf } from './scale';

/** A part of an axis, from its lower to its upper end, 0 to 1. */
export type Brush = readonly [number, number];
/** Selected parts of axes, by name of the axis. */
export type Brushes = Readonly<Record<string, Brush>>;

export interface IAxis {
  name: string;
  scale: IScale;
  of(trial: Trial): unknown;
}

/** All axes: one per parameter, and the objective last. */
export function axesOf(sweep: Sweep): IAxis[] {
  const axes = Object.entries(sweep.space).map(([name, domain]): IAxis => ({
    name,
    scale: scaleOf(domain),
    of: trial => trial.parameters[name]
  }));
  const scale = scaleOfValues(valuesOf(sweep));
  return [...axes, { name: sweep.objective, scale, of: trial => trial.value }];
}

/** Tolerance: ends are moved by sums of steps, which are not exact. */
const NEAR = 1e-9;

/** Whether a trial is within all brushes. */
export function within(
  trial: Trial,
  axes: readonly IAxis[],
  brushes: Brushes
): boolean {
  return axes.every(({ name, scale, of }) => {
    const brush = brushes[name];
    const at = scale.of(of(trial));
    return !brush || (at >= brush[0] - NEAR && at <= brush[1] + NEAR);
  });
}

/** Step of an arrow key if an axis has no list of values. */
const STEP = 0.05;

/**
 * A brush after a key has moved one of its ends; null for the whole axis, undefined if the key moves none.
 *
 * An end stops at the other one.
 */
export function moved(
  brush: Brush | undefined,
  end: 0 | 1,
  key: string,
  step = STEP
): Brush | null | undefined {
  const [low, high] = brush ?? [0, 1];
  const at = end ? high : low;
  const places: Record<string, number> = {
    ArrowUp: at + step,
    ArrowDown: at - step,
    PageUp: at + 4 * step,
    PageDown: at - 4 * step,
    Home: 0,
    End: 1
  };
  if (key === 'Escape') {
    return null;
  }
  if (!(key in places)) {
    return undefined;
  }
  const place = places[key];
  const now: Brush = end
    ? [low, Math.min(1, Math.max(low, place))]
    : [Math.max(0, Math.min(high, place)), high];
  return now[0] <= NEAR && now[1] >= 1 - NEAR ? null : now;
}
