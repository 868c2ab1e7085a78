import { Node, Rank } from '../tokens';
import { isSplitVague } from './split';

/** The median; null for an empty list. */
export function median(values: ArrayLike<number>): number | null {
  // typed arrays sort numerically by default, which is ten times faster
  return middleOf(Float64Array.from(values).sort());
}

function middleOf(sorted: Float64Array): number | null {
  if (!sorted.length) {
    return null;
  }
  const half = sorted.length >> 1;
  return sorted.length % 2
    ? sorted[half]
    : (sorted[half - 1] + sorted[half]) / 2;
}

/**
 * Own time of each rank, s, NaN if unknown or too unsteady to tell; and the median of the known ones.
 */
interface IOwnTimes {
  own: Float64Array;
  middle: number | null;
}

const owned = new WeakMap<readonly Rank[], IOwnTimes>();

/** Computed once per frame for all views. */
export function ownTimes(ranks: readonly Rank[]): IOwnTimes {
  const before = owned.get(ranks);
  if (before) {
    return before;
  }
  const own = new Float64Array(ranks.length);
  // the head calls a rank slow only where it is sure of its own time, and of the others'
  const sure = ranks.some(rank => rank.slow);
  let count = 0;
  for (let i = 0; i < own.length; i++) {
    own[i] = (sure || !isSplitVague(ranks[i]) ? ranks[i].own_s : null) ?? NaN;
    count += Number.isNaN(own[i]) ? 0 : 1;
  }
  // sorted, NaN comes last
  const sorted = own.slice().sort().subarray(0, count);
  const times = { own, middle: middleOf(sorted) };
  owned.set(ranks, times);
  return times;
}

/**
 * Reference for a rank's own time, s: the median of all ranks; with two ranks, the other one.
 *
 * The median of two is between them: the slow one would seem half as slow as it is.
 */
export function usualOf(
  own: ArrayLike<number>,
  rank: number,
  middle: number | null
): number | null {
  const other = own.length === 2 ? own[1 - rank] : NaN;
  return Number.isNaN(other) ? middle : other;
}

/** Relative own time above which a rank that is not called slow gets no deeper colour. */
export const FAINT = 0.05;
/** The same for a time at which it is unknown whether the rank was called slow. */
const FAINT_BEFORE = 0.1;

/** Relative error of own time, from the estimate of communication. */
export function unsureOf(
  step_s: number | null | undefined,
  overhead: number | null | undefined,
  error: number | null | undefined
): number {
  const share = 1 - (overhead ?? 0);
  return step_s && error && share > 0 ? error / share : 0;
}

/**
 * A deviation for colours: none within the error, and deep only if the head calls the rank slow.
 *
 * @param over - own time relative to the reference: 0.1 is 10 % slower
 * @param slow - the head's verdict; null if unknown
 */
export function shownOver(
  over: number,
  unsure: number,
  slow: boolean | null
): number {
  if (slow) {
    return over;
  }
  return Math.abs(over) <= unsure
    ? 0
    : Math.min(over, slow === null ? FAINT_BEFORE : FAINT);
}

/** The same for a rank now. */
export function shownNow(over: number, rank: Rank): number {
  const { step_s, comm_overhead, comm_overhead_error, slow } = rank;
  const unsure = unsureOf(step_s, comm_overhead, comm_overhead_error);
  return shownOver(over, unsure, slow);
}

/** Bytes per second that a node sends and receives; null if unknown. */
export function networkOf(node: Node): number | null {
  const { sent_bytes_per_s: sent, received_bytes_per_s: received } = node;
  return sent === null || received === null ? null : sent + received;
}
