/** Maximum number of figures, tables and ranks with widgets that are displayed initially. */
const FIRST = 8;
/** For so few more, a button would take as much room as they do. */
const SPARE = 2;

/**
 * Which displays of ranks are not displayed initially. The first display of each rank belongs together, then the
 * second of each, and so on: either all of these are displayed or none, unless there are more ranks than fit.
 *
 * @param ranks - the rank of each display, in the order in which they are displayed
 * @returns their indices
 */
export function beyondFirst(ranks: readonly number[]): Set<number> {
  const counts = new Map<number, number>();
  const numbers = ranks.map(rank => {
    const number = counts.get(rank) ?? 0;
    counts.set(rank, number + 1);
    return number;
  });
  const sizes: number[] = [];
  numbers.forEach(number => (sizes[number] = (sizes[number] ?? 0) + 1));
  let whole = 0;
  let shown = 0;
  while (whole < sizes.length && shown + sizes[whole] <= FIRST + SPARE) {
    shown += sizes[whole++];
  }
  if (ranks.length - Math.max(shown, FIRST) <= SPARE) {
    return new Set();
  }
  return new Set(
    ranks
      .map((_, i) => i)
      .filter(i => (whole ? numbers[i] >= whole : i >= FIRST))
  );
}

/**
 * Which ranks' widgets are not displayed initially: a rank's progress bars are shown all or not at all, as only the last
 * one moves.
 *
 * @param ranks - the ranks with widgets, in the order in which they are displayed
 */
export function ranksBeyondFirst(ranks: readonly number[]): Set<number> {
  const all = [...new Set(ranks)];
  return new Set([...beyondFirst(all)].map(i => all[i]));
}
