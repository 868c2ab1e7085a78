import { expect, it } from 'vitest';

import { dottedRows } from './breakpointGutter';

it('reads the lines that have a dot, unless rows are missing', () => {
  const gutter = document.createElement('div');
  gutter.innerHTML =
    '<i style="visibility: hidden"><b></b></i><i></i><i><b></b></i><i></i>';
  expect(dottedRows(gutter, 3)).toEqual([2]);
  expect(dottedRows(gutter, 4)).toBeNull();
});
