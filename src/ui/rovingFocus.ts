import React from 'react';

/**
 * Move the focus through cells that share one tab stop.
 *
 * @param cells all of them, in order.
 * @param columns cells of a row; 1 for a list.
 * @returns whether the key was one of ours.
 */
export function moveFocus(
  event: React.KeyboardEvent<HTMLElement>,
  cells: readonly HTMLElement[],
  columns = 1
): boolean {
  const from = cells.indexOf(event.target as HTMLElement);
  const to = target(event.key, from, cells.length, columns);
  if (from < 0 || to === null) {
    return false;
  }
  event.preventDefault();
  cells[to].focus();
  return true;
}

/** Index that a key moves the focus to, from an index in a list of `count`; null if it moves nothing. */
export function target(
  key: string,
  from: number,
  count: number,
  columns: number
): number | null {
  const sideways = columns > 1;
  const to = {
    ArrowRight: sideways ? from + 1 : undefined,
    ArrowLeft: sideways ? from - 1 : undefined,
    ArrowDown: from + columns,
    ArrowUp: from - columns,
    Home: 0,
    End: count - 1
  }[key];
  return to !== undefined && to >= 0 && to < count ? to : null;
}
