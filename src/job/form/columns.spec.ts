import { expect, it } from 'vitest';

import { isOneColumn } from './columns';

it('has one column in a small window, and in a narrow view of a large one', () => {
  expect(isOneColumn(900, 1199)).toBe(true);
  expect(isOneColumn(859, 1440)).toBe(true);
  expect(isOneColumn(860, 1200)).toBe(false);
});
