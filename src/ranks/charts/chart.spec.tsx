// alone: module mocks
import { act } from 'react';
import React from 'react';
import { createRoot } from 'react-dom/client';
import type uPlot from 'uplot';
import { expect, it, vi } from 'vitest';

import { TimeChart } from './chart';

const redraw = vi.hoisted(() => vi.fn());
const made = vi.hoisted(() => [] as uPlot.Options[]);

vi.mock('uplot', () => ({
  default: class {
    constructor(options: uPlot.Options) {
      made.push(options);
    }
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
          none=""
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

it('has no figures on the axes of a chart without values, and says why it is empty', () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  vi.stubGlobal(
    'ResizeObserver',
    class {
      observe(): void {}
      disconnect(): void {}
    }
  );
  const at = new Date(2024, 0, 1, 12).getTime();
  const node = document.createElement('div');
  /** Labels of the axes. */
  const labels = (
    values: (number | null)[],
    marks: { at: number; label: string }[] = []
  ): [string[], string[]] => {
    const root = createRoot(node);
    act(() =>
      root.render(
        <TimeChart
          times={[at - 10_000, at]}
          series={[{ label: 'x', values, colour: '--c' }]}
          marks={marks}
          window={300}
          until={at}
          end="now"
          blank={!marks.length}
          summary="Throughput."
          none="No training steps yet."
        />
      )
    );
    const [x, y] = made[made.length - 1].axes as Record<
      'splits' | 'values',
      (...args: unknown[]) => unknown
    >[];
    const of = (axis: typeof x): string[] =>
      axis.values({}, axis.splits({}, 1, 0, 1)) as string[];
    const found: [string[], string[]] = [of(x), of(y)];
    said = node.firstElementChild!.getAttribute('aria-label')!;
    act(() => root.unmount());
    return found;
  };
  let said = '';
  expect(labels([null, null])).toEqual([[], ['']]);
  expect(said).toBe('Throughput. No training steps yet.');
  expect(labels([1, 2])[1]).toEqual(['0', '0.5', '1']);
  expect(said).toBe('Throughput.');
  // an event has a time, and the name of one that has no room is in the tooltip
  const [times, none] = labels([null, null], [{ at, label: 'rank 1 lost' }]);
  expect([times[times.length - 1], none]).toEqual(['now', ['']]);
  expect(said).toMatch(/No training steps yet\. \S.* rank 1 lost$/);
  vi.unstubAllGlobals();
});
