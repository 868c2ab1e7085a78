// alone: module mocks
import { act } from 'react';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { TimeChart } from './chart';

const redraw = vi.hoisted(() => vi.fn());

vi.mock('uplot', () => ({
  default: class {
    setData(): void {}
    setSize(): void {}
    destroy(): void {}
    redraw = redraw;
  }
}));

it('formats the times of its axis again where only the text at its end has changed', () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  vi.stubGlobal(
    'ResizeObserver',
    class {
      observe(): void {}
      disconnect(): void {}
    }
  );
  const root = createRoot(document.createElement('div'));
  const draw = (end: string | null): void =>
    act(() =>
      root.render(
        <TimeChart
          times={[]}
          series={[]}
          marks={[]}
          window={60}
          until={60_000}
          end={end}
          summary=""
        />
      )
    );
  draw('now');
  redraw.mockClear();
  draw('now');
  expect(redraw).not.toHaveBeenCalled();
  // uPlot keeps its labels while the axis has the same ends
  draw(null);
  expect(redraw).toHaveBeenCalledExactlyOnceWith(true, true);
  act(() => root.unmount());
  vi.unstubAllGlobals();
});
