import { formatRanks } from './format';

/**
 * Parse ranks as typed by a user: "0,2-3".
 *
 * @param size ranks of the world; an empty text means all of them.
 * @returns null if the text names none, or one that does not exist
 */
export function parseRanks(text: string, size: number): number[] | null {
  const parts = text
    .replace(/–/g, '-')
    .split(/[\s,]+/)
    .filter(Boolean);
  if (!parts.length) {
    return Array.from({ length: size }, (_, rank) => rank);
  }
  const ranks = new Set<number>();
  for (const part of parts) {
    const span = /^(\d+)(?:-(\d+))?$/.exec(part);
    const [first, last] = [Number(span?.[1]), Number(span?.[2] ?? span?.[1])];
    if (!span || last >= size || first > last) {
      return null;
    }
    for (let rank = first; rank <= last; rank++) {
      ranks.add(rank);
    }
  }
  return [...ranks].sort((a, b) => a - b);
}

/** Format ranks for fields and commands: [0, 2, 3] is "0,2-3". */
export function rankSet(ranks: readonly number[]): string {
  return formatRanks(ranks).replace(/–/g, '-').replace(/, /g, ',');
}

/** Parse ranks from the server: "0,2-3"; an empty text means none. */
export function ranksIn(value: unknown): number[] {
  return typeof value === 'string' && value
    ? (parseRanks(value, Infinity) ?? [])
    : [];
}
