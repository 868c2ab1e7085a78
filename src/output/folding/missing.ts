import { IFamily, Missing } from './positions';

/** A line, and when it was printed. */
export interface ITimed {
  ranks: readonly number[];
  families: readonly IFamily[];
  /** In seconds. */
  time: number;
}

/** Ranks print their lines of one step within this time. */
const SAME_STEP_S = 0.05;

/**
 * How many lines of each rank are missing where the beginning of a log is: if one rank's line of a step was cut off, its
 * next line is not the other ranks' first, but their second.
 *
 * A rank's first line belongs to that line of the rank that begins first which is nearest in time.
 */
export function missingAtStart(lines: readonly ITimed[]): Missing {
  /** Rest of lines → rank → times of its lines. */
  const times = new Map<string, Map<number, number[]>>();
  for (const { ranks, families, time } of lines) {
    for (const { rest } of families) {
      const ofRanks = times.get(rest) ?? new Map<number, number[]>();
      times.set(rest, ofRanks);
      for (const rank of ranks) {
        const known = ofRanks.get(rank);
        if (known) {
          known.push(time);
        } else {
          ofRanks.set(rank, [time]);
        }
      }
    }
  }
  const missing = new Map<string, Map<number, number>>();
  for (const [rest, ofRanks] of times) {
    const all = [...ofRanks.values()];
    const first = all.reduce((a, b) => (b[0] < a[0] ? b : a));
    if (first.length > 1) {
      missing.set(
        rest,
        new Map([...ofRanks].map(([rank, [at]]) => [rank, nearest(first, at)]))
      );
    }
  }
  return missing;
}

/** Index of the time that is nearest; the first one, if that is near enough. */
function nearest(times: readonly number[], at: number): number {
  let found = 0;
  const off = (i: number): number => Math.abs(times[i] - at);
  while (
    found + 1 < times.length &&
    off(found) > SAME_STEP_S &&
    off(found + 1) < off(found)
  ) {
    found++;
  }
  return found;
}
