import React, { useLayoutEffect, useRef } from 'react';

import {
  Contradictions,
  settled,
  SortValue,
  useSteadyOrder
} from '../../ui/lists/steadyOrder';
import { IRankMetrics } from '../model/rankMetrics';
import { weightOf } from '../model/texts';
import { IColumn } from './columns';

/** The column that a table is sorted by, and whether its largest value comes first. */
export interface ISort {
  key: string;
  down: boolean;
}

/** Sort keys of the rows, those last known where they are unknown now, and their column. */
interface IHeld {
  key: string;
  values: ReadonlyMap<number, SortValue>;
}

/** Rows in an order, and whether all of what they show is in that order. */
interface IOrdered {
  rows: IRankMetrics[];
  exact: boolean;
}

/**
 * The rows in the order of a column. Noise changes no order, unless the numbers contradict it for some time; meanwhile
 * the order is not exact.
 *
 * @param column the column of `sort`.
 * @param host element of the rows.
 */
export function useRowOrder(
  rankMetrics: readonly IRankMetrics[],
  column: IColumn,
  sort: ISort,
  host: React.RefObject<HTMLElement>
): IOrdered {
  const contradictions = useRef(new Contradictions());
  const byRank = new Map(rankMetrics.map(f => [f.rank.rank, f]));
  // a rank that the head calls slow comes first at once, whatever its current time
  const weight = (f: IRankMetrics): number =>
    sort.key === 'own' && sort.down ? weightOf(f.rank) : 0;
  // rows without any value are in the order of their numbers at once, not in that of the values before
  const unknown = rankMetrics.every(f => column.value(f) === null);
  const reason = `${sort.key} ${sort.down} ${unknown} ${rankMetrics.map(f => `${f.rank.rank} ${weight(f)}`).join()}`;
  const steady = useSteadyOrder<IHeld>(
    before => {
      const keeps =
        before?.by.key === sort.key &&
        !contradictions.current.lasting(before.now);
      const values = keeps ? before.by.values : new Map<number, SortValue>();
      const current = settled(
        values,
        new Map(rankMetrics.map(f => [f.rank.rank, column.value(f)]))
      );
      // noise changes no order after a time without values, either
      const withValue = [...current].filter(([, value]) => value !== null);
      return {
        keys: [...rankMetrics]
          .sort(
            (a, b) => weight(a) - weight(b) || compare(current, a, b, sort.down)
          )
          .map(f => f.rank.rank),
        by: { key: sort.key, values: new Map([...values, ...withValue]) }
      };
    },
    reason,
    host
  );
  const order = [...new Set([...steady, ...byRank.keys()])].filter(rank =>
    byRank.has(rank)
  );
  const contrary = (above: number, below: number): boolean => {
    const [a, b] = [byRank.get(above)!, byRank.get(below)!];
    return weight(a) === weight(b) && contradicts(column, a, b, sort.down);
  };
  useLayoutEffect(() => {
    contradictions.current.update(order, contrary, Date.now());
  });
  return {
    rows: order.map(rank => byRank.get(rank)!),
    exact: !order.some((rank, i) => i > 0 && contrary(order[i - 1], rank))
  };
}

/** Whether one sees that a row belongs below the next one: by its value, and not only by digits that aren't shown. */
function contradicts(
  column: IColumn,
  above: IRankMetrics,
  below: IRankMetrics,
  down: boolean
): boolean {
  const [a, b] = [column.value(above), column.value(below)];
  if (a === null || b === null || a === b) {
    return false;
  }
  return a < b === down && column.show(above) !== column.show(below);
}

/**
 * Unknown values come last; with equal values, conspicuous ranks first, as in the sidebar, then by number.
 */
function compare(
  values: ReadonlyMap<number, SortValue>,
  a: IRankMetrics,
  b: IRankMetrics,
  down: boolean
): number {
  const x = values.get(a.rank.rank) ?? null;
  const y = values.get(b.rank.rank) ?? null;
  if (x === y) {
    return weightOf(a.rank) - weightOf(b.rank) || a.rank.rank - b.rank.rank;
  }
  if (x === null || y === null) {
    return x === null ? 1 : -1;
  }
  return (x < y ? -1 : 1) * (down ? -1 : 1);
}
