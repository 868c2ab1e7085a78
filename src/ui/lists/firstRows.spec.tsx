import { nullTranslator } from '@jupyterlab/translation';
import React, { act } from 'react';
import { createRoot } from 'react-dom/client';
import { afterEach, expect, it, vi } from 'vitest';

import { useFirstRows } from './firstRows';

afterEach(() => {
  vi.unstubAllGlobals();
});

function List(props: { rows: readonly number[] }): JSX.Element {
  const trans = nullTranslator.load('dtrain_lab');
  const [rows, more] = useFirstRows(props.rows, trans);
  return (
    <>
      {rows.map(row => (
        <i key={row} />
      ))}
      {more}
    </>
  );
}

it('draws the rows that are in view first, and the others of the first hundred after them', () => {
  let next = (): void => undefined;
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  vi.stubGlobal('requestAnimationFrame', (call: () => void) => {
    next = call;
    return 1;
  });
  vi.stubGlobal('cancelAnimationFrame', () => undefined);
  const node = document.createElement('div');
  const root = createRoot(node);
  const rows = Array.from({ length: 1000 }, (_, i) => i);
  act(() => root.render(<List rows={rows} />));
  const first = node.querySelectorAll('i').length;
  expect(first).toBeGreaterThan(20);
  expect(first).toBeLessThan(50);
  expect(node.querySelector('button')).toBeNull();
  act(() => next());
  expect(node.querySelectorAll('i')).toHaveLength(100);
  expect(node.querySelector('button')?.textContent).toBe('Show more of 1000');
  act(() => root.unmount());
});
