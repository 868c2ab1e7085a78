import React from 'react';

import { moveFocus } from '../../ui/rovingFocus';

/** What the keys of a table need to know of it. */
export interface ITableKeys {
  /** Ranks of the rows, in their order. */
  ranks: readonly number[];
  /** Index of the selected row, or of the first one. */
  selected: number;
  /** Index of the row that is the tab stop. */
  stop: number;
  /** Element of the rows. */
  host: React.RefObject<HTMLElement>;
  /** Select a row, and scroll to it. */
  onGo: (index: number) => void;
}

/** Arrows, Home and End move between rows, and arrows from the first row to the heads and back. */
export function moveInTable(
  event: React.KeyboardEvent<HTMLElement>,
  { ranks, selected, stop, host, onGo }: ITableKeys
): void {
  const heads = headsOf(event.currentTarget);
  if (heads.includes(event.target as HTMLElement)) {
    if (event.key === 'ArrowDown') {
      event.preventDefault();
      focusRow(host, ranks[stop]);
    } else {
      moveFocus(event, heads, heads.length + 1);
    }
    return;
  }
  // from the focused row, which need not be the selected one
  const own = (event.target as HTMLElement).closest<HTMLElement>('[data-row]');
  const from = own
    ? ranks.findIndex(rank => `${rank}` === own.dataset.row)
    : selected;
  if (event.key === 'ArrowUp' && from === 0) {
    event.preventDefault();
    heads[0]?.focus();
    return;
  }
  const to = rowAt(event.key, from, ranks.length);
  if (to !== null) {
    event.preventDefault();
    onGo(to);
    focusRow(host, ranks[to]);
  }
}

/** Index of the row that a key leads to; null if there is none. */
function rowAt(key: string, from: number, count: number): number | null {
  const to = {
    ArrowDown: from + 1,
    ArrowUp: from - 1,
    Home: 0,
    End: count - 1
  }[key];
  return to !== undefined && to >= 0 && to < count ? to : null;
}

/** The heads of columns that the table has room for. */
function headsOf(table: HTMLElement): HTMLElement[] {
  return [
    ...table.querySelectorAll<HTMLElement>('[role=columnheader] button')
  ].filter(head => head.offsetParent !== null);
}

/** Focus a row once it is drawn. */
function focusRow(
  host: React.RefObject<HTMLElement>,
  rank: number | undefined
): void {
  requestAnimationFrame(() =>
    host.current?.querySelector<HTMLElement>(`[data-row="${rank}"]`)?.focus()
  );
}
