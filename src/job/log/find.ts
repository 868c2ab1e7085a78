import { TranslationBundle } from '@jupyterlab/translation';
import { useEffect, useMemo, useRef } from 'react';

import { plain } from '../../output/lines/ansi';
import { formatCount } from '../../metrics/format';
import { useViewState } from '../../ui/viewState';
import { ILogRow } from './lines';
import { IReader } from './logReader';
import { IPlace, useMatchCount } from './matchCount';

/** The searched text, and the row of the last match. */
export interface IHit {
  text: string;
  key: string | null;
  /** Whether the log contains it, but only in lines that are folded. */
  folded?: boolean;
}

/** Result of a search for a text; `place`: which of the log's lines with it the match shows, null if unknown. */
export type Found = { text: string } & (
  { kind: 'match'; place: IPlace | null } | { kind: 'none' | 'folded' }
);

/** Matches a text in any case, as JupyterLab's own search does; its group is what it matched. */
export function inAnyCase(text: string): RegExp {
  return new RegExp(`(${text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')})`, 'iu');
}

/** Indexes of the rows with a text. */
export function matchesIn(rows: readonly ILogRow[], text: string): number[] {
  const wanted = inAnyCase(text);
  return rows.flatMap((row, index) =>
    [row.text, ...row.written].some(t => wanted.test(plain(t))) ? [index] : []
  );
}

/**
 * Search in a log: first in the rows after the last match, or from the first visible one. Then from the log's start:
 * in the loaded rows if they are all, else in the log, where the server finds a text that is not in them.
 *
 * @param first - the first visible row
 * @param show - scrolls to a row
 * @returns the last match, its result (null while it is searched), and the function to search for a text
 */
export function useFind(
  rows: readonly ILogRow[],
  reader: IReader,
  first: () => number,
  show: (index: number) => void
): { hit: IHit | null; found: Found | null; find: (text: string) => void } {
  const [hit, setHit] = useViewState<IHit | null>('log hit', null);
  /** Searched by the server, whose answer contains the next match. */
  const asked = useRef<{ text: string; lines: unknown } | null>(null);
  const searched = hit?.text ?? '';
  const wanted = useMemo(
    () => (searched ? inAnyCase(searched) : null),
    [searched]
  );
  const place = useMatchCount(hit, rows, reader, wanted);
  const matches = useMemo(
    () => (searched ? matchesIn(rows, searched) : []),
    [rows, searched]
  );
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
    // lines that are about to go are not searched: their match would go with them
    const index = reader.isReplaced()
      ? undefined
      : nextIn(rows, text, hit, first(), reader.whole);
    if (index !== undefined) {
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
    if (reader.missing === wanted.text) {
      return; // these lines are what was written since
    }
    const [index] = matchesIn(rows, wanted.text);
    if (index !== undefined) {
      goTo(wanted.text, index);
    } else {
      setHit({ text: wanted.text, key: null, folded: true });
    }
  });
  return { hit, found: foundOf(hit, rows, matches, place, reader), find };
}

/** Index of the next match; undefined if it may be in lines that are not loaded. */
function nextIn(
  rows: readonly ILogRow[],
  text: string,
  hit: IHit | null,
  first: number,
  whole: boolean
): number | undefined {
  const last = rows.findIndex(row => row.key === hit?.key);
  const from = hit?.text === text && last >= 0 ? last + 1 : first;
  const all = matchesIn(rows, text);
  return all.find(index => index >= from) ?? (whole ? all[0] : undefined);
}

/** Result of a search; null while it is searched, or when its match is not in the rows any more. */
function foundOf(
  hit: IHit | null,
  rows: readonly ILogRow[],
  matches: readonly number[],
  place: IPlace | null,
  reader: IReader
): Found | null {
  if (!hit) {
    return null;
  }
  const { text, key, folded } = hit;
  if (matches.some(index => rows[index].key === key)) {
    return { text, kind: 'match', place };
  }
  if (key !== null || matches.length) {
    return null;
  }
  return reader.missing === text
    ? { text, kind: 'none' }
    : folded
      ? { text, kind: 'folded' }
      : null;
}

/** Result of a search in words: what is beside the field, and a sentence. */
export function foundWords(
  found: Found,
  ranks: string,
  trans: TranslationBundle
): { text: string; title: string } {
  switch (found.kind) {
    case 'none':
      return {
        text: trans.__('No match'),
        title: ranks
          ? trans.__('No line of ranks %2 contains "%1".', found.text, ranks)
          : trans.__('"%1" is not in the log.', found.text)
      };
    case 'folded':
      return {
        text: trans.__('In a folded line'),
        title: trans.__('Turn off "Fold repeats" to see it.')
      };
    default:
      return found.place
        ? placeWords(found.place, ranks, trans)
        : { text: '', title: '' };
  }
}

/** A row may show several of the lines: what ranks wrote alike, and repeats. */
function placeWords(
  { first, last, of }: IPlace,
  ranks: string,
  trans: TranslationBundle
): { text: string; title: string } {
  const [from, to, all] = [first, last, of].map(formatCount);
  return {
    text:
      first === last
        ? trans.__('%1 of %2', from, all)
        : trans.__('%1–%2 of %3', from, to, all),
    title: ranks
      ? trans.__(
          'Among all matching lines of ranks %1. Enter: next match',
          ranks
        )
      : trans.__(
          'Among all matching lines in the log, of all ranks. Enter: next match'
        )
  };
}
