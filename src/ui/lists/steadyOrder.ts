import React, { useLayoutEffect, useRef, useState } from 'react';

/** Minimum interval between two changes of the order, ms: a row must not jump away from the pointer. */
const EVERY = 5000;

/** Relative change of a value below which the order does not change. */
const NOISE = 0.05;

/** Time after which values that contradict the order change it, though by noise only, ms. */
const LASTS = 10_000;

/** Sort keys of rows: numbers, texts, or null if unknown. */
export type SortValue = number | string | null;

/**
 * New sort keys: a number keeps its previous value as long as it changes by noise only.
 *
 * Otherwise equally fast ranks would change places each time.
 */
export function settled(
  before: ReadonlyMap<number, SortValue>,
  now: ReadonlyMap<number, SortValue>
): Map<number, SortValue> {
  return new Map(
    [...now].map(([key, value]) => {
      const held = before.get(key) ?? null;
      const same =
        typeof value === 'number' &&
        typeof held === 'number' &&
        Math.abs(value - held) <= NOISE * Math.abs(held);
      return [key, same ? held : value];
    })
  );
}

/**
 * Since when rows contradict the order in which they are shown: of values that differ by noise, the larger one may be
 * the lower one for a moment, but not for long.
 */
export class Contradictions {
  /**
   * Compare each row with the next one.
   *
   * @param order keys of the rows as they are shown.
   * @param contradicts whether a row, by what is shown of it, belongs below the next one.
   * @param now ms.
   */
  update(
    order: readonly number[],
    contradicts: (above: number, below: number) => boolean,
    now: number
  ): void {
    const before = this._since;
    this._since = new Map();
    for (let i = 1; i < order.length; i++) {
      const [above, below] = [order[i - 1], order[i]];
      if (contradicts(above, below)) {
        const pair = `${above} ${below}`;
        this._since.set(pair, before.get(pair) ?? now);
      }
    }
  }

  /** Whether two rows have contradicted the order in all updates for some seconds. */
  lasting(now: number): boolean {
    return [...this._since.values()].some(since => now - since >= LASTS);
  }

  private _since = new Map<string, number>();
}

/** Keys of rows in an order, and the values by which they are in it. */
export interface ISorted<V> {
  keys: readonly number[];
  by: V;
}

/** An order of rows, with its time and reason. */
interface IOrder<V> extends ISorted<V> {
  reason: string;
  at: number;
}

/**
 * Keep the order of rows for some seconds, and as long as the pointer or the focus is on them.
 *
 * @param sort returns the rows in their current order, given what the order before was by, and the time, ms; null for
 *   the first one. Called only when that order is needed.
 * @param reason when this changes (another column, other rows), the new order applies before it is seen.
 * @param host element of the rows.
 * @returns the keys in the order to show them; those of the rows before until the new order applies.
 */
export function useSteadyOrder<V>(
  sort: (before: { by: V; now: number } | null) => ISorted<V>,
  reason: string,
  host: React.RefObject<HTMLElement>
): readonly number[] {
  const [first] = useState(() => ({ reason, ...sort(null) }));
  const [keys, setKeys] = useState(first.keys);
  const order = useRef<IOrder<V> | null>(null);
  useLayoutEffect(() => {
    const now = Date.now();
    const busy = !!host.current?.matches(':hover, :focus-within');
    const before = order.current ?? { ...first, at: now };
    order.current = steady(before, sort, reason, now, busy);
    setKeys(order.current.keys); // draws nothing again if they are the same
  }, [first, sort, reason, host]);
  return keys;
}

/** The order that applies from now on. */
export function steady<V>(
  before: IOrder<V>,
  sort: (before: { by: V; now: number }) => ISorted<V>,
  reason: string,
  now: number,
  busy: boolean
): IOrder<V> {
  const due = now - before.at >= EVERY && !busy;
  if (before.reason === reason && !due) {
    return before;
  }
  const { keys, by } = sort({ by: before.by, now });
  const same = keys.join() === before.keys.join();
  return { reason, at: now, keys: same ? before.keys : keys, by };
}
