import { useEffect, useRef } from 'react';

import { plain } from '../../output/lines/ansi';
import { useViewState } from '../../ui/viewState';
import { ILogRow } from './lines';
import { IReader } from './logReader';

/** The searched text, and the row of the last match. */
export interface IHit {
  text: string;
  key: string | null;
}

/** Matches a text in any case, as JupyterLab's own search does; its group is what it matched. */
export function inAnyCase(text: string): RegExp {
  return new RegExp(`(${text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')})`, 'iu');
}

/** The next row with a text; -1 if there is none. */
export function nextRow(
  rows: readonly ILogRow[],
  text: string,
  from: number
): number {
  const wanted = inAnyCase(text);
  return rows.findIndex(
    (row, i) =>
      i >= from && [row.text, ...row.written].some(t => wanted.test(plain(t)))
  );
}

/**
 * Search in a log: first in the loaded rows, then in those after them, then from the log's start.
 *
 * @param first - the first visible row
 * @param show - scrolls to a row
 */
export function useFind(
  rows: readonly ILogRow[],
  reader: IReader,
  first: () => number,
  show: (index: number) => void
): { hit: IHit | null; find: (text: string) => void } {
  const [hit, setHit] = useViewState<IHit | null>('log hit', null);
  /** Searched by the server, whose answer contains the next match. */
  const asked = useRef<{ text: string; lines: unknown } | null>(null);
  const goTo = (text: string, index: number): void => {
    setHit({ text, key: rows[index].key });
    show(index);
  };
  const find = (text: string): void => {
    asked.current = null;
    reader.calm();
    if (!text) {
      setHit(null);
      return;
    }
    const known = rows.findIndex(row => row.key === hit?.key);
    const again = hit?.text === text && known >= 0;
    const index = nextRow(rows, text, again ? known + 1 : first());
    if (index >= 0) {
      goTo(text, index);
      return;
    }
    setHit({ text, key: null });
    asked.current = { text, lines: reader.lines };
    reader.find(text);
  };
  useEffect(() => {
    const wanted = asked.current;
    if (!wanted || wanted.lines === reader.lines) {
      return;
    }
    asked.current = null;
    const index = nextRow(rows, wanted.text, 0);
    if (index >= 0) {
      goTo(wanted.text, index);
    }
  });
  return { hit, find };
}
