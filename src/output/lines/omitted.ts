import { rankSet } from '../../metrics/rankSets';
import { LABEL, parseRanks } from './lines';

/** Lines that were omitted: how many, and of which ranks. */
export interface IOmitted {
  /** As they were printed: equal lines of several ranks may be one. */
  lines: number;
  /** Rank → its lines among them. */
  ofRank: ReadonlyMap<number, number>;
  /** How many of them are not counted by rank. */
  unknown: number;
}

export const NOTHING: IOmitted = { lines: 0, ofRank: new Map(), unknown: 0 };

/** Omitted lines of two places. */
export function together(one: IOmitted, other: IOmitted): IOmitted {
  return combined(one, other, 1);
}

/** Omitted lines without those that were kept. */
export function without(all: IOmitted, kept: IOmitted): IOmitted {
  return combined(all, kept, -1);
}

function combined(one: IOmitted, other: IOmitted, sign: 1 | -1): IOmitted {
  const ofRank = new Map(one.ofRank);
  for (const [rank, count] of other.ofRank) {
    ofRank.set(rank, (ofRank.get(rank) ?? 0) + sign * count);
  }
  return {
    lines: one.lines + sign * other.lines,
    unknown: one.unknown + sign * other.unknown,
    ofRank
  };
}

/** Count labelled lines. */
export function countLines(text: string): IOmitted {
  const counts = new Map<string, number>();
  const rows = text.split('\n').slice(0, -1);
  for (const row of rows) {
    const label = LABEL.exec(row)?.[1] ?? '';
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  const unknown = counts.get('') ?? 0;
  counts.delete('');
  return { lines: rows.length, unknown, ofRank: byRank(counts) };
}

/** Count lines by the ranks that printed them. */
export function countRanks(
  lines: readonly { ranks: readonly number[] }[]
): IOmitted {
  const ofRank = new Map<number, number>();
  for (const { ranks } of lines) {
    ranks.forEach(rank => ofRank.set(rank, (ofRank.get(rank) ?? 0) + 1));
  }
  const unknown = lines.filter(({ ranks }) => !ranks.length).length;
  return { lines: lines.length, unknown, ofRank };
}

/** "18000 each of ranks 0-1"; what a notice of omitted lines says of ranks, in an earlier version "18000 of each of". */
const COUNTS =
  /(\d+) (?:(?:of )?each of ranks|of rank) (\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)/g;

/** Omitted lines as a notice tells of them. */
export function readNotice(lines: number, rest: string): IOmitted {
  const counts = new Map<string, number>();
  for (const [, count, ranks] of rest.matchAll(COUNTS)) {
    counts.set(ranks, Number(count));
  }
  const unlabelled = /(\d+) (?:unlabelled|of no rank)/.exec(rest)?.[1] ?? 0;
  return {
    lines,
    ofRank: byRank(counts),
    unknown: counts.size ? Number(unlabelled) : lines
  };
}

/** How many of the omitted lines each rank has printed: "18000 of rank 0, 12 each of ranks 1-3". */
export function countsText({ ofRank, unknown }: IOmitted): string {
  const ranksWith = new Map<number, number[]>();
  for (const [rank, count] of [...ofRank].sort(([a], [b]) => a - b)) {
    if (count) {
      ranksWith.set(count, [...(ranksWith.get(count) ?? []), rank]);
    }
  }
  const parts = [...ranksWith].map(([count, ranks]) =>
    ranks.length === 1
      ? `${count} of rank ${ranks[0]}`
      : `${count} each of ranks ${rankSet(ranks)}`
  );
  if (parts.length && unknown) {
    parts.push(`${unknown} unlabelled`);
  }
  return parts.join(', ');
}

/** Sets of ranks, and a count of each, as counts of ranks. */
function byRank(counts: ReadonlyMap<string, number>): Map<number, number> {
  const ofRank = new Map<number, number>();
  for (const [ranks, count] of counts) {
    for (const rank of parseRanks(ranks)) {
      ofRank.set(rank, (ofRank.get(rank) ?? 0) + count);
    }
  }
  return ofRank;
}
