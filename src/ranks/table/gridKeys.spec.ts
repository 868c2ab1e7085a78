import React from 'react';
import { afterEach, expect, it } from 'vitest';

import { moveInGrid } from './gridKeys';

afterEach(() => document.body.replaceChildren());

/** A grid of two rows, the first with four cells and the second with three. */
function makeGrid(): {
  rows: HTMLElement[][];
  press: (key: string, ctrlKey?: boolean) => string;
  focus: (name: string) => void;
} {
  const rows = [
    ['node', '0', '1', 'time'],
    ['node', '2', 'time']
  ].map((names, row) =>
    names.map(name => {
      const cell = document.body.appendChild(document.createElement('span'));
      cell.tabIndex = -1;
      cell.id = `${row} ${name}`;
      return cell;
    })
  );
  return {
    rows,
    press: (key, ctrlKey = false) => {
      moveInGrid(
        {
          key,
          ctrlKey,
          target: document.activeElement,
          preventDefault: () => undefined
        } as unknown as React.KeyboardEvent<HTMLElement>,
        rows
      );
      return document.activeElement?.id ?? '';
    },
    focus: name => document.getElementById(name)?.focus()
  };
}

it('reaches every cell of a row, and stays in the row', () => {
  const { press, focus } = makeGrid();
  focus('0 node');
  expect(press('ArrowLeft')).toBe('0 node');
  expect(['0 0', '0 1', '0 time', '0 time']).toEqual(
    [1, 2, 3, 4].map(() => press('ArrowRight'))
  );
  expect(press('Home')).toBe('0 node');
  expect(press('End')).toBe('0 time');
});

it('keeps its column between rows, and the last one also where they differ', () => {
  const { press, focus } = makeGrid();
  focus('0 0');
  expect(press('ArrowUp')).toBe('0 0');
  expect(press('ArrowDown')).toBe('1 2');
  expect(press('ArrowDown')).toBe('1 2');
  focus('0 time');
  expect(press('ArrowDown')).toBe('1 time');
  expect(press('ArrowUp')).toBe('0 time');
  expect(press('Home', true)).toBe('0 node');
  expect(press('End', true)).toBe('1 time');
});

it('leaves other keys, and keys outside of its cells, to others', () => {
  const { rows, focus } = makeGrid();
  const event = (key: string): React.KeyboardEvent<HTMLElement> =>
    ({
      key,
      target: document.activeElement
    }) as unknown as React.KeyboardEvent<HTMLElement>;
  focus('0 0');
  expect(moveInGrid(event('Tab'), rows)).toBe(false);
  (document.activeElement as HTMLElement).blur();
  expect(moveInGrid(event('Home'), rows)).toBe(false);
});
