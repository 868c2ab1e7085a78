/**
 * The line of an edited text that was a given line before: with the same text, the nearest one to where the
 * edit has moved it; else the line in its place, as if the line itself was edited.
 *
 * @param line - from 1, as lines of the result.
 */
export function movedLine(before: string, after: string, line: number): number {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const text = old[line - 1]?.trim();
  let first = 0;
  while (
    first < old.length &&
    first < now.length &&
    old[first] === now[first]
  ) {
    first++;
  }
  const place = line <= first ? line : line + now.length - old.length;
  const same = now
    .map((each, i) => (each.trim() === text ? i + 1 : 0))
    .filter(Boolean)
    .sort((a, b) => Math.abs(a - place) - Math.abs(b - place));
  return same[0] ?? place;
}

/** Number of lines that two texts share, as a measure of which text was edited. */
export function sharedLines(a: string, b: string): number {
  const lines = new Set(a.split('\n'));
  return b.split('\n').filter(line => lines.has(line)).length;
}
