import { Sweep, Trial } from '../../tokens';
import { formatValue } from '../../metrics/format';
import { ITick, roundSteps } from '../../ui/charts/ticks';

/** An axis: position of a value, 0 to 1; NaN if it has none. */
export interface IScale {
  of(value: unknown): number;
  /** The value at a position, or the nearest one of a list. */
  text(at: number): string;
  /** Distance between values of a list, 0 to 1; absent for numbers. */
  step?: number;
  /** Their positions, 0 to 1. */
  ticks: readonly ITick[];
}

const RANGE =
  /^(loguniform|uniform|randint)\(\s*([^,\s]+)\s*,\s*([^)\s]+)\s*\)$/;

/** Round numbers between two numbers, two or more: a single one tells no scale. */
function atLeastTwo(low: number, high: number, most: number): number[] {
  const steps = roundSteps(low, high, most);
  return steps.length > 1 || most > 9 || !(high > low)
    ? steps
    : atLeastTwo(low, high, most + 1);
}

/** A scale of numbers from low to high. */
export function linear(low: number, high: number, most = 4): IScale {
  const span = high - low || 1;
  const of = (value: unknown): number =>
    typeof value === 'number' ? (value - low) / span : NaN;
  return {
    of,
    text: at => formatValue(low + at * span),
    ticks: atLeastTwo(low, high, most).map(value => ({
      at: of(value),
      label: formatValue(value)
    }))
  };
}

/** A logarithmic scale. */
export function logarithmic(low: number, high: number): IScale {
  const [from, to] = [Math.log10(low), Math.log10(high)];
  const span = to - from || 1;
  const of = (value: unknown): number =>
    typeof value === 'number' && value > 0
      ? (Math.log10(value) - from) / span
      : NaN;
  const every = Math.max(1, Math.ceil((to - from) / 5));
  const ticks: ITick[] = [];
  for (let n = Math.ceil(from - 1e-9); n <= to + 1e-9; n += every) {
    ticks.push({ at: of(10 ** n), label: formatValue(10 ** n) });
  }
  const ends = [low, high].map(v => ({ at: of(v), label: formatValue(v) }));
  return {
    of,
    text: at => formatValue(10 ** (from + at * span)),
    ticks: ticks.length > 1 ? ticks : ends
  };
}

/** A scale of the values of a list, in order. */
export function listed(values: readonly unknown[]): IScale {
  const last = Math.max(1, values.length - 1);
  const at = new Map(
    values.map((value, index) => [
      JSON.stringify(value),
      values.length === 1 ? 0.5 : index / last
    ])
  );
  const every = Math.ceil(values.length / 8);
  return {
    of: value => at.get(JSON.stringify(value)) ?? NaN,
    text: place => formatValue(values[Math.round(place * (values.length - 1))]),
    step: 1 / last,
    ticks: values
      .map(value => ({
        at: at.get(JSON.stringify(value)) ?? 0,
        label: formatValue(value)
      }))
      .filter((_, index) => index % every === 0)
  };
}

/** The axis of a parameter's range or list. */
export function scaleOf(domain: unknown): IScale {
  if (Array.isArray(domain)) {
    const numbers = domain.every(value => typeof value === 'number');
    return listed(numbers ? [...domain].sort((a, b) => a - b) : domain);
  }
  const parts = RANGE.exec(String(domain));
  if (!parts) {
    return linear(0, 1);
  }
  const [low, high] = [Number(parts[2]), Number(parts[3])];
  return parts[1] === 'loguniform' ? logarithmic(low, high) : linear(low, high);
}

/** The axis of the objective, over the values of the trials; logarithmic if the worst is far off. */
export function scaleOfValues(values: readonly number[]): IScale {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (!values.length) {
    return { ...linear(0, 1), ticks: [] };
  }
  if (low > 0 && high / low > 50) {
    return logarithmic(low, high);
  }
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  return linear(low - room, high + room);
}

/** Values that trials have reached. */
export function valuesOf(sweep: Sweep): number[] {
  return sweep.trials
    .map(trial => trial.value)
    .filter((value): value is number => value !== null);
}

/** The best value after each trial that succeeded, in order of their ends. */
export function bestSoFar(sweep: Sweep): { trial: Trial; best: number }[] {
  const pick = sweep.direction === 'minimize' ? Math.min : Math.max;
  const done = sweep.trials
    .filter(t => t.state === 'succeeded' && t.value !== null)
    .sort((a, b) => (a.ended_at ?? 0) - (b.ended_at ?? 0));
  let best: number | null = null;
  return done.map(trial => {
    const value = trial.value ?? 0;
    best = best === null ? value : pick(best, value);
    return { trial, best };
  });
}

/** Rank of a trial among all, from 1 for the best to 0; null if it has no value. */
export function goodness(sweep: Sweep): Map<number, number> {
  const sign = sweep.direction === 'minimize' ? 1 : -1;
  const ordered = sweep.trials
    .filter(trial => trial.value !== null)
    .sort((a, b) => sign * ((a.value ?? 0) - (b.value ?? 0)));
  const last = Math.max(1, ordered.length - 1);
  return new Map(
    ordered.map((trial, index) => [trial.number, 1 - index / last])
  );
}
