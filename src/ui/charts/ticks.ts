/** A tick of an axis: where it is, in the axis' own unit, and its label. */
export interface ITick {
  at: number;
  label: string;
  /** In place of `label` where that would touch the one before. */
  short?: string;
}

const DAY = 86_400;
/** Round times, s, below a day. */
const TIMES = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600,
  43_200
];

/** The shortest round time that is at least as long, s: from a second on, above a day in whole days. */
export function roundTime(seconds: number): number {
  return TIMES.find(s => s >= seconds) ?? DAY * Math.ceil(seconds / DAY);
}

/** Return at most `most` round times from 0 on, and 0, s. */
export function timeSteps(until: number, most: number): number[] {
  const step = roundTime(until / Math.max(1, most));
  const count = Math.floor(until / step) + 1;
  return Array.from({ length: count }, (_, n) => n * step);
}

/** Return at most `most` round numbers between two numbers, and a first one. */
export function roundSteps(low: number, high: number, most: number): number[] {
  const rough = (high - low) / Math.max(1, most);
  if (!(rough > 0)) {
    return [low];
  }
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find(s => s * power >= rough) ?? 10);
  const steps: number[] = [];
  for (let n = Math.ceil(low / step); n * step <= high * (1 + 1e-9); n++) {
    steps.push(Number((n * step).toPrecision(10)));
  }
  return steps;
}
