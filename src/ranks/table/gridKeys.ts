import React from 'react';

/**
 * Move the focus through the cells of a grid: arrows, Home and End in a row, with Ctrl in all of them.
 *
 * @param rows - cells of each row; their number may differ. From a last cell, up and down lead to last cells.
 * @returns whether the key was one of a grid, and a cell had the focus.
 */
export function moveInGrid(
  event: React.KeyboardEvent<HTMLElement>,
  rows: readonly (readonly HTMLElement[])[]
): boolean {
  const cell = event.target as HTMLElement;
  const row = rows.findIndex(cells => cells.includes(cell));
  if (row < 0) {
    return false;
  }
  const cells = rows[row];
  const column = cells.indexOf(cell);
  const beside = (other: readonly HTMLElement[] | undefined): HTMLElement => {
    const last = (other?.length ?? 0) - 1;
    const isLast = column === cells.length - 1;
    return other?.[isLast ? last : Math.min(column, last)] ?? cell;
  };
  const targets: Record<string, () => HTMLElement | undefined> = {
    ArrowRight: () => cells[column + 1],
    ArrowLeft: () => cells[column - 1],
    ArrowDown: () => beside(rows[row + 1]),
    ArrowUp: () => beside(rows[row - 1]),
    Home: () => (event.ctrlKey ? rows[0][0] : cells[0]),
    End: () => (event.ctrlKey ? rows.at(-1)?.at(-1) : cells.at(-1))
  };
  if (!Object.hasOwn(targets, event.key)) {
    return false;
  }
  event.preventDefault();
  targets[event.key]()?.focus();
  return true;
}
