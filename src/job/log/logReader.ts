import { TranslationBundle } from '@jupyterlab/translation';
import { useEffect, useRef, useState } from 'react';

import { Job, LogLine } from '../../tokens';
import { useViewState, useViewStateRef } from '../../ui/viewState';
import { ILogQuery, JobRequests } from '../model/requests';
import { usePoll } from '../model/poll';
import { refusalOf } from '../model/refusal';
import { hasEnded } from '../model/texts';

const POLL_MS = 150;
/** Maximum number of lines kept in the page; the whole log is on disk. */
const MOST = 20_000;
/** Number of lines from which on only viewed lines are read. */
const ENOUGH = 15_000;

/** The loaded part of a log, and functions to read another part. */
export interface IReader {
  lines: readonly LogLine[];
  /** Number of the first line: the number of earlier lines that were read and dropped. */
  from: number;
  /** Why reading has stopped; empty while it continues. */
  error: string;
  /** Whether these are all lines that the log has so far. */
  whole: boolean;
  /** The last searched text, if the log does not contain it; else empty. */
  missing: string;
  firstError(): void;
  find(text: string): void;
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
  /** A search that has restarted at the beginning; where to continue if nothing is found. */
  back?: string;
}

/** The loaded lines. */
interface IPart {
  lines: readonly LogLine[];
  from: number;
  /** Whether it began with the log's first line. */
  start: boolean;
}

const NOTHING: IPart = { lines: [], from: 0, start: false };

/** A part of a log with the lines after it; if there are too many, the first ones are dropped. */
export function extended(part: IPart, more: readonly LogLine[]): IPart {
  const all = [...part.lines, ...more];
  const gone = Math.max(0, all.length - MOST);
  return {
    ...part,
    lines: gone ? all.slice(gone) : all,
    from: part.from + gone
  };
}

/**
 * Reads a log in pieces, and continues as it grows, also after a network failure.
 *
 * @param isAtEnd - whether the user is viewing the last lines; otherwise viewed lines would be dropped.
 */
export function useLog(
  jobs: JobRequests,
  job: Job,
  ranks: string,
  isAtEnd: () => boolean,
  trans: TranslationBundle
): IReader {
  const [part, setPart] = useViewState('log part', NOTHING);
  const { lines, from } = part;
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
  if (next.current.key !== key) {
    next.current = { key, query: begin() };
    latest.current++;
  }

  const refresh = usePoll(`log ${key} ${hasEnded(job)}`, POLL_MS, async () => {
    const { fresh, back, ...query } = next.current.query;
    if (!fresh && lines.length >= ENOUGH && !isAtEnd()) {
      return true;
    }
    const mine = latest.current;
    try {
      const piece = await jobs.logs(job.id, { ranks, ...query });
      if (mine !== latest.current) {
        return true; // another part was requested
      }
      setError('');
      next.current.query = { offset: piece.offset, fresh: false };
      if (fresh) {
        setPart({ lines: piece.lines, from: 0, start: piece.start });
      } else if (piece.lines.length) {
        setPart(before => extended(before, piece.lines));
      }
      // a piece may contain lines of other ranks only: the server knows the end
      return !piece.end;
    } catch (failure) {
      if (mine !== latest.current) {
        return true;
      }
      const error = refusalOf(failure, trans);
      if (error.body.code === 'not_in_log' && query.search) {
        if (back === undefined) {
          const from = { offset: 'start', search: query.search, fresh: true };
          next.current.query = { ...from, back: query.offset };
          return true;
        }
        setMissing(query.search);
        next.current.query = { offset: back, fresh: false };
        return !hasEnded(job);
      }
      setError(error.message);
      if (error.status === 0 || error.status >= 500) {
        throw error; // the same again, later
      }
      setPart(NOTHING); // no such ranks, or no such job: the displayed lines are another's
      return false;
    }
  });
  const go = (query: ILogQuery): void => {
    latest.current++;
    next.current.query = { ...query, fresh: true };
    refresh();
  };
  useEffect(() => {
    setError('');
    setMissing('');
  }, [key]);
  useEffect(
    () => () => {
      // pending lines are requested again when this is visible again
      latest.current++;
    },
    []
  );

  return {
    lines,
    from,
    error,
    // beyond that, lines are read only while the last ones are in view
    whole: part.start && from === 0 && lines.length < ENOUGH,
    missing,
    first: lines.length ? lines[0].time : null,
    firstError: () => go({ offset: 'start', firstError: true }),
    find: text => go({ offset: next.current.query.offset, search: text }),
    calm: () => setMissing(''),
    fromStart: () => go({ offset: 'start' }),
    toEnd: () => go({ offset: 'end' })
  };
}
