import { nullTranslator } from '@jupyterlab/translation';
import React, { act } from 'react';
import { createRoot } from 'react-dom/client';
import { renderToStaticMarkup } from 'react-dom/server';
import { afterEach, expect, it, vi } from 'vitest';

import { makeCluster, makeRank, makeVerdict } from '../../testing/clusters';
import { Verdict } from '../../tokens';
import { rankMetricsOf } from '../model/rankMetrics';
import { RankTable } from './table';

// nothing has a height here, and nothing of no height is drawn
vi.mock('@tanstack/react-virtual', () => ({
  useVirtualizer: ({ count }: { count: number }) => ({
    getVirtualItems: () =>
      Array.from({ length: count }, (_, index) => ({ index, start: 0 })),
    getTotalSize: () => 0,
    scrollToIndex: () => undefined
  })
}));

const trans = nullTranslator.load('x');

/** The rows of a table of three ranks, as they stand there after each update: "0 slow" is a mark. */
function table(): (own: readonly (number | null)[], slow?: number) => string[] {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  vi.useFakeTimers({ now: 100_000 });
  const node = document.body.appendChild(document.createElement('div'));
  const root = createRoot(node);
  return (own, slow) => {
    const ranks = own.map((step_s, rank) =>
      makeRank(rank, {
        state: 'busy',
        step_s,
        comm_overhead: 0,
        slow: rank === slow
      })
    );
    act(() =>
      root.render(
        <RankTable
          rankMetrics={rankMetricsOf(makeCluster({ ranks }))}
          selected={null}
          onSelect={() => undefined}
          onMenu={() => undefined}
          alarm={null}
          trans={trans}
        />
      )
    );
    return [...node.querySelectorAll<HTMLElement>('[data-row]')].map(
      ({ dataset, innerHTML }) =>
        `${dataset.row}${dataset.slow ? ' slow' : ''}${/[+×]/.test(innerHTML) ? ' marked' : ''}`
    );
  };
}

afterEach(() => {
  vi.useRealTimers();
  document.body.replaceChildren();
});

it('has a rank first in the update that calls it slow, whatever its time is then', () => {
  const update = table();
  expect(update([0.1, 0.1, 0.1])).toEqual(['0', '1', '2']);
  vi.advanceTimersByTime(250);
  expect(update([0.1, 0.1, 0.09], 2)).toEqual(['2 slow', '0', '1']);
  vi.advanceTimersByTime(250);
  expect(update([0.1, 0.1, 0.09])).toEqual(['0', '1', '2']);
});

it('marks the own time of a rank that the head calls slow, and of no other one', () => {
  const update = table();
  expect(update([0.1, 0.1, 0.2])).toEqual(['2', '0', '1']);
  vi.advanceTimersByTime(250);
  expect(update([0.1, 0.1, 0.2], 2)).toEqual(['2 slow marked', '0', '1']);
});

it('has rows without values in the order of their numbers at once', () => {
  const update = table();
  expect(update([0.1, 0.11, 0.12])).toEqual(['2', '1', '0']);
  vi.advanceTimersByTime(250);
  expect(update([null, null, null])).toEqual(['0', '1', '2']);
  vi.advanceTimersByTime(6000);
  expect(update([null, null, null])).toEqual(['0', '1', '2']);
});

it('keeps equally fast ranks in order over a time without values', () => {
  const update = table();
  expect(update([0.1, 0.1, 0.1])).toEqual(['0', '1', '2']);
  vi.advanceTimersByTime(250);
  expect(update([null, null, null])).toEqual(['0', '1', '2']);
  vi.advanceTimersByTime(250);
  expect(update([0.1, 0.101, 0.103])).toEqual(['0', '1', '2']);
});

it('has rows in the order of their numbers once these have contradicted the order for ten seconds', () => {
  const update = table();
  expect(update([0.1, 0.1, 0.1])).toEqual(['0', '1', '2']);
  const after = (seconds: number, own: readonly number[]): string[] => {
    let rows: string[] = [];
    for (let passed = 0; passed < seconds; passed += 0.5) {
      vi.advanceTimersByTime(500);
      rows = update(own);
    }
    return rows;
  };
  expect(after(8, [0.1, 0.103, 0.1])).toEqual(['0', '1', '2']);
  expect(after(8, [0.1, 0.103, 0.1])).toEqual(['1', '0', '2']);
  // digits that are not shown
  expect(after(30, [0.1001, 0.103, 0.1])).toEqual(['1', '0', '2']);
  expect(after(30, [0.1, 0.103, 0.1003])).toEqual(['1', '0', '2']);
});

it('marks an order as rough while the numbers contradict it', () => {
  const update = table();
  const mark = (): string | undefined =>
    document
      .querySelector('[aria-sort=descending] [aria-hidden]')
      ?.textContent?.trim();
  update([0.087, 0.087, 0.087]);
  expect(mark()).toBe('▾');
  vi.advanceTimersByTime(500);
  expect(update([0.087, 0.087, 0.091])).toEqual(['0', '1', '2']);
  expect(mark()).toBe('≈▾');
  expect(
    document.querySelector('[aria-sort=descending] button')?.outerHTML
  ).toContain('Roughly in this order');
  vi.advanceTimersByTime(500);
  update([0.087, 0.08704, 0.087]); // digits that are not shown
  expect(mark()).toBe('▾');
});

it('keeps the order of rows whose numbers go up and down', () => {
  const update = table();
  expect(update([0.1, 0.1])).toEqual(['0', '1']);
  for (let i = 0; i < 60; i++) {
    vi.advanceTimersByTime(2000);
    expect(update(i % 3 ? [0.1, 0.103] : [0.103, 0.1])).toEqual(['0', '1']);
  }
});

it('has no columns of dashes for steps that ranks which hang do not take: where they stand needs the room', () => {
  const heads = (alarm: Verdict | null, wait_s: number | null): string[] => {
    const ranks = [makeRank(0, { wait_s }), makeRank(1)];
    const page = document.createElement('div');
    page.innerHTML = renderToStaticMarkup(
      <RankTable
        rankMetrics={rankMetricsOf(makeCluster({ ranks }))}
        selected={null}
        onSelect={() => undefined}
        onMenu={() => undefined}
        alarm={alarm}
        trans={trans}
      />
    );
    return [...page.querySelectorAll('[role=columnheader] button')].map(
      head => head.firstChild?.textContent ?? ''
    );
  };
  const few = ['Rank', 'Device', 'Where', 'Own ms', 'Memory GiB', 'CPU use'];
  expect(heads(makeVerdict(), null)).toEqual([...few, 'Seen']);
  expect(heads(makeVerdict(), 0.1)).toContain('Waiting ms');
  expect(heads(null, null)).toContain('Transfer ms');
});
