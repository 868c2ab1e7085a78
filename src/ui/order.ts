import React, { useRef } from 'react';

/** Minimum interval between two changes of the order, ms: a row must not jump away from the pointer. */
const EVERY = 5000;

/** A figure that changes by a smaller share of itself has not changed, as far as an order goes. */
const NOISE = 0.05;

/** What rows are sorted by: figures, words, or null where nothing is known. */
export type SortValue = number | string | null;

/**
 * What rows are sorted by from now on: a figure stays what it was for as long as it changes by noise only.
 *
 * Otherwise ranks that are equally fast would change places each time.
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

/** An order of rows, when it was made, and for what. */
interface IOrder {
  reason: string;
  at: number;
  keys: readonly number[];
}

/**
 * Keep rows where they are for some seconds, and for as long as somebody points at them or has the focus there.
 *
 * @param sort gives the keys of the rows in their present order; asked only when that order shall hold.
 * @param reason when this changes (another column, other rows), the new order holds at once.
 * @param host element of the rows.
 * @returns the keys in the order to show them.
 */
export function useSteadyOrder(
  sort: () => readonly number[],
  reason: string,
  host: React.RefObject<HTMLElement>
): readonly number[] {
  const kept = useRef<IOrder>({ reason: '', at: 0, keys: [] });
  const busy = !!host.current?.matches(':hover, :focus-within');
  kept.current = steady(kept.current, sort, reason, Date.now(), busy);
  return kept.current.keys;
}

/** The order that holds from now on. */
export function steady(
  before: IOrder,
  sort: () => readonly number[],
  reason: string,
  now: number,
  busy: boolean
): IOrder {
  const due = now - before.at >= EVERY && !busy;
  return before.reason !== reason || due
    ? { reason, at: now, keys: sort() }
    : before;
}
