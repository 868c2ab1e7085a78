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
  toFirst(): void;
  toLast(): void;
  toMiddle(index: number): void;
  /** Bring the error into view again, once its lines are read. */
  bringError(): void;
  /** Stay where the user goes, whatever error is in these lines. */
  leaveError(): void;
  /** The user scrolls: a row that was brought into view need not stay there. */
  letGo(): void;
  /** It was scrolled: remember the place for when this view is visible again. */
  remember(): void;
}

/** What is shown, and who decides what is in view. */
interface IScrolled {
  rows: readonly ILogRow[];
  /** Whether the last row stays in view. */
  follow: boolean;
  /** The rank whose error is brought into view; null if no rank has failed. */
  failed: number | null;
  /** Time of the first loaded line, which changes when another part of the log is loaded. */
  part: number | null;
}

/**
 * What is in view of a log: its end while it is followed, else the error of the rank that failed, once; then it is
 * where the user scrolls.
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
  useEffect(() => {
    if (follow && count) {
      virtual.scrollToIndex(count - 1);
    }
  }, [virtual, count, follow]);
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
  /** Key of the row that was scrolled into view, until the user scrolls elsewhere. */
  const held = useRef<string | null>(null);
  /** The part whose error was scrolled into view, once; after that the user scrolls. */
  const brought = useViewStateRef<string | null>('log brought', null);
  const part = `${of.part} ${failed}`;
  useEffect(() => {
    if (follow || failed === null || brought.current === part) {
      return;
    }
    const ofIt = rows.filter(r => r.error && isOf(r, failed));
    const at = rows.indexOf(ofIt.find(r => r.failed) ?? ofIt[0]);
    if (at >= 0) {
      brought.current = part;
      held.current = rows[at].key;
      virtual.scrollToIndex(Math.max(0, at - ABOVE), { align: 'start' });
    }
  }, [virtual, rows, part, failed, follow, brought]);
  useResized(host, () => {
    const at = rows.findIndex(r => r.key === held.current);
    if (follow && count) {
      virtual.scrollToIndex(count - 1);
    } else if (at >= 0) {
      virtual.scrollToIndex(Math.max(0, at - ABOVE), { align: 'start' });
    }
  });
  const firstVisible = (): number => virtual.range?.startIndex ?? 0;
  return {
    host,
    virtual,
    isAtEnd: () => follow || (virtual.range?.endIndex ?? count) + NEAR > count,
    firstVisible,
    toFirst: () => virtual.scrollToIndex(0, { align: 'start' }),
    toLast: () => virtual.scrollToIndex(count - 1),
    toMiddle: index => virtual.scrollToIndex(index, { align: 'center' }),
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
