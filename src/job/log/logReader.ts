import { TranslationBundle } from '@jupyterlab/translation';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';

import {
  IJobs,
  ILogQuery,
  Job,
  LogBars,
  LogLine,
  LogMatches,
  LogPiece
} from '../../tokens';
import { withoutBar } from '../../output/lines/lines';
import { useViewState, useViewStateRef } from '../../ui/viewState';
import { usePoll } from '../../ui/hooks/poll';
import { refusalOf } from '../model/refusal';
import { hasEnded } from '../model/states';
import { updatedBars } from './bars';

/** Time from a piece to the next request, ms. */
const POLL_MS = 150;
/**
 * Maximum number of this page's requests that wait at the server for the next line: browsers open six
 * connections to a server, for all pages.
 */
const MOST_WAITING = 2;
/** Maximum number of lines kept in the page; the whole log is on disk. */
const MOST = 20_000;
/** Number of lines from which on only viewed lines are read. */
const ENOUGH = 15_000;

/** The loaded part of a log, and functions to read another part. */
export interface IReader {
  lines: readonly LogLine[];
  /** Progress bars that ranks draw now. */
  bars: readonly LogBars[];
  /** Number of the first line: the number of earlier lines that were read and dropped. */
  from: number;
  /** Whether lines before the first one are missing. */
  isCut: boolean;
  /** Why reading has stopped; empty while it continues. */
  error: string;
  /** Whether these are all lines that the log has so far. */
  whole: boolean;
  /** The last searched text, if the log does not contain it; else empty. */
  missing: string;
  /** Whether the displayed lines are about to be replaced by another part of the log. */
  isReplaced(): boolean;
  firstError(): void;
  find(text: string): void;
  /** The number of the log's lines with a text up to the last loaded one, and after it. */
  matches(text: string): Promise<LogMatches>;
  fromStart(): void;
  /** Forget the result of an earlier search. */
  calm(): void;
  toEnd(): void;
  /** Time of the first line; changes when another part is read. */
  first: number | null;
}

/** Where to read next; `fresh`: whether the displayed lines are dropped. */
interface INext extends ILogQuery {
  fresh: boolean;
  /** What to read if a search finds nothing. */
  missed?: INext;
  /** Whether this search has restarted at the beginning. */
  again?: boolean;
}

/** The loaded lines. */
interface IPart {
  lines: readonly LogLine[];
  bars: readonly LogBars[];
  from: number;
  /** Whether it began with the log's first line. */
  start: boolean;
  /** Offset behind its last line. */
  end: string;
  /** Whether the log had more than what was read last. */
  more: boolean;
}

const NOTHING: IPart = {
  lines: [],
  bars: [],
  from: 0,
  start: false,
  end: 'start',
  more: true
};

/** Number of this page's requests that wait at the server. */
let waiting = 0;

/** Lines after an offset, and whether the server has waited for the next one. */
async function follow(
  jobs: Pick<IJobs, 'logs'>,
  id: string,
  query: ILogQuery
): Promise<{ piece: LogPiece; waited: boolean }> {
  const waited = waiting < MOST_WAITING;
  waiting += waited ? 1 : 0;
  try {
    const piece = await jobs.logs(id, { ...query, wait: waited });
    return { piece, waited };
  } finally {
    waiting -= waited ? 1 : 0;
  }
}

/**
 * A part of a log with the piece after it; text behind a progress bar is a line of its own. If there are too many lines,
 * the first ones are dropped.
 */
export function extended(
  part: IPart,
  piece: Pick<LogPiece, 'lines' | 'bars' | 'offset' | 'more'>
): IPart {
  const all = piece.lines.length
    ? [...part.lines, ...piece.lines.flatMap(withoutBar)]
    : part.lines;
  const gone = Math.max(0, all.length - MOST);
  return {
    ...part,
    lines: gone ? all.slice(gone) : all,
    bars: updatedBars(part.bars, piece.bars),
    from: part.from + gone,
    end: piece.offset,
    more: piece.more
  };
}

/**
 * Reads a log in pieces, and continues as it grows, also after a network failure.
 *
 * @param isAtEnd - whether the user is viewing the last lines; otherwise viewed lines would be dropped.
 */
export function useLog(
  jobs: IJobs,
  job: Job,
  ranks: string,
  isAtEnd: () => boolean,
  trans: TranslationBundle
): IReader {
  const [part, setPart] = useViewState('log part', NOTHING);
  const { lines, bars, from } = part;
  const [error, setError] = useState('');
  const [missing, setMissing] = useState('');
  const failed = !!job.error;
  const begin = (): INext => ({
    offset: failed ? 'start' : 'end',
    firstError: failed,
    fresh: true
  });
  const key = `${job.id} ${ranks} ${failed}`;
  const next = useViewStateRef('log next', { key, query: begin() });
  const latest = useRef(0);
  useLayoutEffect(() => {
    if (next.current.key !== key) {
      next.current = { key, query: begin() };
      latest.current++;
    }
  });

  const refresh = usePoll(`log ${key} ${hasEnded(job)}`, POLL_MS, async () => {
    const { fresh, missed, again, ...query } = next.current.query;
    if (!fresh && lines.length >= ENOUGH && !isAtEnd()) {
      return true;
    }
    // of two requests at a time, the first one's answer would repeat lines
    const mine = ++latest.current;
    try {
      // the beginning is shown at once
      const { piece, waited } = fresh
        ? {
            piece: await jobs.logs(job.id, { ranks, ...query }),
            waited: true
          }
        : await follow(jobs, job.id, { ranks, ...query });
      if (mine !== latest.current) {
        return true; // another part was requested
      }
      setError('');
      next.current.query = { offset: piece.offset, fresh: false };
      if (fresh) {
        setPart(extended({ ...NOTHING, start: piece.start }, piece));
      } else {
        setPart(before =>
          piece.lines.length || piece.bars.length || piece.more !== before.more
            ? extended(before, piece)
            : before
        );
      }
      // a piece may contain lines of other ranks only: the server knows the end
      const goesOn = waited || piece.lines.length ? true : 'unchanged';
      return piece.end ? false : goesOn;
    } catch (failure) {
      if (mine !== latest.current) {
        return true;
      }
      const error = refusalOf(failure, trans);
      if (error.body.code === 'not_in_log' && query.search) {
        if (!again) {
          next.current.query = {
            ...next.current.query,
            offset: 'start',
            again: true
          };
          return true;
        }
        setMissing(query.search);
        next.current.query = missed ?? begin();
        return next.current.query.fresh || !hasEnded(job);
      }
      setError(error.message);
      if (error.status === 0 || error.status >= 500) {
        throw error; // the same again, later
      }
      setPart(NOTHING); // no such ranks, or no such job: the displayed lines are another's
      return false;
    }
  });
  const go = (query: Omit<INext, 'fresh'>): void => {
    latest.current++;
    next.current.query = { ...query, fresh: true };
    refresh();
  };
  const find = (text: string): void => {
    const { query } = next.current;
    // of a search that goes on, the lines to show if nothing is found are still those from before it
    const missed = query.missed ?? query;
    go({ offset: query.offset, search: text, missed });
  };
  useEffect(() => {
    setError('');
    setMissing('');
  }, [key]);
  useLayoutEffect(
    () => () => {
      // pending lines are requested again when this is visible again; at once, or their answer would still be taken
      latest.current++;
    },
    []
  );

  return {
    lines,
    bars,
    from,
    isCut: !part.start || from > 0,
    error,
    // beyond that, lines are read only while the last ones are in view
    whole: part.start && from === 0 && lines.length < ENOUGH && !part.more,
    missing,
    first: lines.length ? lines[0].time : null,
    isReplaced: () => next.current.query.fresh,
    firstError: () => go({ offset: 'start', firstError: true }),
    find,
    matches: text =>
      jobs.logMatches(job.id, { ranks, search: text, offset: part.end }),
    calm: () => setMissing(''),
    fromStart: () => go({ offset: 'start' }),
    toEnd: () => go({ offset: 'end' })
  };
}
