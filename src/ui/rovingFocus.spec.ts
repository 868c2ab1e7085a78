import { expect, it } from 'vitest';

import { target } from './rovingFocus';

it('goes by one or by a row, and never over the edge', () => {
  expect(target('ArrowRight', 7, 64, 8)).toBe(8);
  expect(target('ArrowDown', 7, 64, 8)).toBe(15);
  expect(target('ArrowUp', 7, 64, 8)).toBeNull();
  expect(target('ArrowLeft', 0, 64, 8)).toBeNull();
  expect(target('Home', 40, 64, 8)).toBe(0);
  expect(target('End', 40, 64, 8)).toBe(63);
  expect(target('a', 40, 64, 8)).toBeNull();
});

it('leaves the sideways keys of a list to others', () => {
  expect(target('ArrowRight', 2, 9, 1)).toBeNull();
  expect(target('ArrowDown', 2, 9, 1)).toBe(3);
});
