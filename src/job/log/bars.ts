import { formatRanks } from '../../metrics/format';
import { rows } from '../../output/lines/items';
import { withoutBar } from '../../output/lines/lines';
import { mergeBars } from '../../output/text/rows';
import { LogBars } from '../../tokens';
import { ILogRow } from './lines';

/** Bars with those of a new piece of the log, which has the latest of each stream that has changed. */
export function updatedBars(
  bars: readonly LogBars[],
  piece: readonly LogBars[]
): readonly LogBars[] {
  if (!piece.length) {
    return bars;
  }
  const same = (one: LogBars, other: LogBars): boolean =>
    one.rank === other.rank && one.error === other.error;
  return [
    ...bars.filter(one => !piece.some(other => same(one, other))),
    ...piece.filter(({ rows }) => rows.length)
  ];
}

/** The progress bars that ranks draw now, below the lines of the log: each stays in its row, as in cells. */
export function rowsOfBars(bars: readonly LogBars[]): ILogRow[] {
  const ofRanks = new Map<number, string[]>();
  for (const { rank, rows } of bars) {
    ofRanks.set(rank, [...(ofRanks.get(rank) ?? []), ...rows]);
  }
  return mergeBars(rows(new Map(), ofRanks).flatMap(withoutBar)).map(
    ({ ranks, text }, number) => ({
      key: `bar ${number}`,
      time: Math.max(
        ...bars
          .filter(({ rank }) => ranks.includes(rank))
          .map(({ time }) => time)
      ),
      ranks: formatRanks(ranks),
      members: ranks,
      count: ranks.length,
      text,
      differing: null,
      written: [],
      error: false,
      failed: false,
      like: 0,
      frames: 0,
      follows: false,
      folded: 0,
      lines: []
    })
  );
}
