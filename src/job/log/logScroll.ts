import { useVirtualizer, Virtualizer } from '@tanstack/react-virtual';
import React, { useEffect, useRef } from 'react';

import { useLatest } from '../../ui/hooks/useLatest';
import { useViewStateRef } from '../../ui/viewState';
import { ILogRow, isOf } from './lines';

const ROW_HEIGHT = 19;
/** Number of rows before the last one at which more are read. */
const NEAR = 500;
/** Number of rows that are shown above an error. */
const ABOVE = 2;

/** The rows in view, and functions that scroll. */
export interface ILogScroll {
  /** The element that scrolls. */
  host: React.RefObject<HTMLDivElement>;
  virtual: Virtualizer<HTMLDivElement, Element>;
  /** Whether the last rows are in view. */
  isAtEnd(): boolean;
  /** Index of the first visible row. */
  firstVisible(): number;
  /** Show the first row, and stay there while other lines are read; so do the next two with theirs. */
  toFirst(): void;
  toLast(): void;
  toMiddle(index: number): void;
  /** Bring the error into view again, once its lines are read. */
  bringError(): void;
  /** Stay where the user goes, whatever error is in these lines. */
  leaveError(): void;
  /** The user scrolls: what was brought into view need not stay there. */
  letGo(): void;
  /** It was scrolled: remember the place for when this view is visible again. */
  remember(): void;
}

/**
 * What stays in view until the user scrolls: one end of the log, a row in the middle, or an error below some rows. Rows
 * change their places when lines that were read later are folded with them.
 */
type Held = 'first' | 'last' | { key: string; at: 'middle' | 'error' };

/** What is shown, and who decides what is in view. */
interface IScrolled {
  rows: readonly ILogRow[];
  /** Whether the last row stays in view. */
  follow: boolean;
  /** Whether no more lines will be written. */
  ended: boolean;
  /** The rank whose error is brought into view; null if no rank has failed. */
  failed: number | null;
  /** Time of the first loaded line, which changes when another part of the log is loaded. */
  part: number | null;
}

/**
 * What is in view of a log: its end while it is followed, else the error of the rank that failed, once; then it is
 * where the user scrolls. A log that has ended without an error is shown from its end, too.
 */
export function useLogScroll(of: IScrolled): ILogScroll {
  const { rows, follow, failed } = of;
  const count = rows.length;
  const host = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => host.current,
    getItemKey: index => rows[index].key,
    estimateSize: () => ROW_HEIGHT,
    overscan: 20
  });
  /** The first visible row: where to continue when this view is visible again. */
  const place = useViewStateRef<string | null>('log place', null);
  const first = useRef(true);
  useEffect(() => {
    if (first.current && !follow) {
      const at = rows.findIndex(r => r.key === place.current);
      if (at >= 0) {
        virtual.scrollToIndex(at, { align: 'start' });
      }
    }
    first.current = false;
  }, [virtual, rows, follow, place]);
  const held = useViewStateRef<Held | null>(
    'log held',
    of.ended && failed === null ? 'last' : null
  );
  /** The part whose error was scrolled into view, once; after that the user scrolls. */
  const brought = useViewStateRef<string | null>('log brought', null);
  const part = `${of.part} ${failed}`;
  useEffect(() => {
    if (follow || failed === null || brought.current === part) {
      return;
    }
    const ofIt = rows.filter(r => r.error && isOf(r, failed));
    const error = ofIt.find(r => r.failed) ?? ofIt[0];
    if (error) {
      brought.current = part;
      held.current = { key: error.key, at: 'error' };
    }
  }, [rows, part, failed, follow, brought, held]);
  useEffect(() => {
    show(virtual, rows, follow ? 'last' : held.current);
  }, [virtual, rows, follow, held]);
  useResized(host, () => show(virtual, rows, follow ? 'last' : held.current));
  const hold = (wanted: Held): void => {
    held.current = wanted;
    show(virtual, rows, wanted);
  };
  const firstVisible = (): number => virtual.range?.startIndex ?? 0;
  return {
    host,
    virtual,
    isAtEnd: () => follow || (virtual.range?.endIndex ?? count) + NEAR > count,
    firstVisible,
    toFirst: () => hold('first'),
    toLast: () => hold('last'),
    toMiddle: index => {
      brought.current = part; // an error that is read later must not take its place
      hold({ key: rows[index].key, at: 'middle' });
    },
    bringError: () => {
      brought.current = null;
    },
    leaveError: () => {
      brought.current = part;
    },
    letGo: () => {
      held.current = null;
    },
    remember: () => {
      place.current = rows[firstVisible()]?.key ?? null;
    }
  };
}

/** Scroll to what is held, if it is in these rows. */
function show(
  virtual: Virtualizer<HTMLDivElement, Element>,
  rows: readonly ILogRow[],
  held: Held | null
): void {
  if (held === null || rows.length === 0) {
    return;
  }
  if (held === 'first') {
    virtual.scrollToIndex(0, { align: 'start' });
    return;
  }
  if (held === 'last') {
    virtual.scrollToIndex(rows.length - 1, { align: 'end' });
    return;
  }
  const at = rows.findIndex(row => row.key === held.key);
  if (at < 0) {
    return;
  }
  if (held.at === 'middle') {
    virtual.scrollToIndex(at, { align: 'center' });
  } else {
    virtual.scrollToIndex(Math.max(0, at - ABOVE), { align: 'start' });
  }
}

/** Call a function when an element is resized: charts that are drawn above the log take space from its end. */
function useResized(
  host: React.RefObject<HTMLDivElement>,
  resized: () => void
): void {
  const latest = useLatest(resized);
  useEffect(() => {
    const observer = new ResizeObserver(() => latest.current());
    observer.observe(host.current!);
    return () => observer.disconnect();
  }, [host, latest]);
}
