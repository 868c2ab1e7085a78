import { useVirtualizer } from '@tanstack/react-virtual';
import React from 'react';
import { createRoot, Root } from 'react-dom/client';
import { flushSync } from 'react-dom';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { LogLine } from '../../tokens';
import { ILogRow, rowsOf } from './lines';
import { ILogScroll, useLogScroll } from './logScroll';

const scrollToIndex = vi.fn();
vi.mock('@tanstack/react-virtual', () => ({ useVirtualizer: vi.fn() }));

let root: Root;
const out = {} as { scroll: ILogScroll };
beforeEach(() => {
  scrollToIndex.mockClear();
  vi.mocked(useVirtualizer).mockReturnValue({
    scrollToIndex
  } as unknown as ReturnType<typeof useVirtualizer>);
  root = createRoot(document.createElement('div'));
});
afterEach(() => root.unmount());

const line = (rank: number, text: string): LogLine => ({
  time: rank,
  rank,
  text,
  error: false
});
const ended = { follow: false, ended: true, failed: null as number | null };

function Scrolled(props: {
  rows: readonly ILogRow[];
  of: typeof ended;
  out: { scroll: ILogScroll };
}): JSX.Element {
  const scroll = useLogScroll({ ...props.of, rows: props.rows, part: 0 });
  const { host } = scroll;
  props.out.scroll = scroll;
  return <div ref={host} />;
}

/** Show these lines; returns the rows that were scrolled to. */
function draw(lines: readonly LogLine[], of = ended): (string | undefined)[] {
  scrollToIndex.mockClear();
  const rows = rowsOf(lines, true);
  flushSync(() => root.render(<Scrolled rows={rows} of={of} out={out} />));
  return scrollToIndex.mock.calls.map(([index]) => rows[index as number].text);
}

it('keeps a match in view when lines that are read later move it, until the user scrolls', () => {
  const before = [line(1, 'loss 0.5'), line(1, 'THE END')];
  draw(before);
  out.scroll.letGo();
  out.scroll.toMiddle(1);
  expect(scrollToIndex).toHaveBeenLastCalledWith(1, { align: 'center' });
  const more = [...before, line(0, 'begin'), line(0, 'other')];
  expect(draw([...more, line(0, 'THE END')])).toEqual(['THE END']);
  expect(scrollToIndex).not.toHaveBeenCalledWith(1, { align: 'center' });
  out.scroll.letGo();
  expect(draw(more)).toEqual([]);
});

it('keeps a match in view when the error that failed the job is read later', () => {
  const of = { ...ended, failed: 1 };
  const error = { ...line(1, 'KeyError: b'), error: true };
  const before = [line(0, 'loss 0.5'), line(1, 'THE END')];
  draw(before, of);
  out.scroll.toMiddle(0);
  expect(draw([...before, error], of)).toEqual(['loss 0.5']);
  out.scroll.letGo();
  expect(draw([...before, error, line(0, 'more')], of)).toEqual([]);
});

it('opens the log of an ended job at its end, and stays there while more is read', () => {
  const first = [line(0, 'a'), line(0, 'b')];
  expect(draw([])).toEqual([]);
  expect(draw(first)).toEqual(['b']);
  expect(draw([...first, line(0, 'c')])).toEqual(['c']);
  out.scroll.letGo();
  expect(draw([...first, line(0, 'c'), line(0, 'd')])).toEqual([]);
  out.scroll.toFirst();
  expect(draw([line(0, 'start'), ...first])).toEqual(['start']);
});

it('stays where it is in a log that is not followed and goes on', () => {
  const of = { ...ended, ended: false };
  expect(draw([line(0, 'a'), line(0, 'b')], of)).toEqual([]);
});
