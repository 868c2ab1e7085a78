import { TranslationBundle } from '@jupyterlab/translation';
import { useEffect, useRef, useState } from 'react';

import { Job, LogLine } from '../../tokens';
import { useViewState, useViewStateRef } from '../../ui/viewState';
import { ILogQuery, Jobs } from '../model/model';
import { usePoll } from '../model/poll';
import { refusalOf } from '../model/refusal';
import { hasEnded } from '../model/words';

const POLL_MS = 150;
/** Lines kept in the page; the whole log is on disk. */
const MOST = 20_000;
/** Lines from which on no more are read than somebody looks at. */
const ENOUGH = 15_000;

/** What is read of a log, and how to read another part. */
export interface IReader {
  lines: readonly LogLine[];
  /** Number of the first of them: how many earlier ones were read and have gone. */
  from: number;
  /** Why it is not read on; empty while it is. */
  trouble: string;
  firstError(): void;
  find(text: string): void;
  fromStart(): void;
  /** What was said of an earlier search is not so of this one. */
  calm(): void;
  toEnd(): void;
  /** Time of the first line; changes when another part is read. */
  first: number | null;
}

/** Where to read next; `fresh`: what is shown is left behind. */
interface INext extends ILogQuery {
  fresh: boolean;
  /** A search that has begun again from the start; where to go on where nothing is found. */
  back?: string;
}

/** The lines that are here. */
interface IPart {
  lines: readonly LogLine[];
  from: number;
}

const NOTHING: IPart = { lines: [], from: 0 };

/** A part of a log with the lines after it; of too many the first ones go. */
export function extended(part: IPart, more: readonly LogLine[]): IPart {
  const all = [...part.lines, ...more];
  const gone = Math.max(0, all.length - MOST);
  return { lines: gone ? all.slice(gone) : all, from: part.from + gone };
}

/**
 * Reads a log in pieces, and goes on as it grows, also after the network was away.
 *
 * @param isAtEnd - does somebody look at the last lines that are here? Else what is looked at would go.
 */
export function useLog(
  jobs: Jobs,
  job: Job,
  ranks: string,
  isAtEnd: () => boolean,
  trans: TranslationBundle
): IReader {
  const [{ lines, from }, setPart] = useViewState('log part', NOTHING);
  const [trouble, setTrouble] = useState('');
  const failed = !!job.error;
  const begin = (): INext => ({
    offset: failed ? 'start' : 'end',
    firstError: failed,
    fresh: true
  });
  const key = `${job.id} ${ranks} ${failed}`;
  const next = useViewStateRef('log next', { key, query: begin() });
  const turn = useRef(0);
  if (next.current.key !== key) {
    next.current = { key, query: begin() };
    turn.current++;
  }

  const refresh = usePoll(`log ${key} ${hasEnded(job)}`, POLL_MS, async () => {
    const { fresh, back, ...query } = next.current.query;
    if (!fresh && lines.length >= ENOUGH && !isAtEnd()) {
      return true;
    }
    const mine = turn.current;
    try {
      const piece = await jobs.logs(job.id, { ranks, ...query });
      if (mine !== turn.current) {
        return true; // somebody wants another part
      }
      setTrouble('');
      next.current.query = { offset: piece.offset, fresh: false };
      if (fresh) {
        setPart({ lines: piece.lines, from: 0 });
      } else if (piece.lines.length) {
        setPart(before => extended(before, piece.lines));
      }
      // a piece may hold lines of other ranks only: it is the server that knows the end
      return !piece.end;
    } catch (failure) {
      if (mine !== turn.current) {
        return true;
      }
      const error = refusalOf(failure, trans);
      if (error.body.code === 'not_in_log' && query.search) {
        if (back === undefined) {
          const from = { offset: 'start', search: query.search, fresh: true };
          next.current.query = { ...from, back: query.offset };
          return true;
        }
        setTrouble(
          ranks
            ? trans.__(
                'No line of ranks %2 contains “%1”.',
                query.search,
                ranks
              )
            : trans.__('“%1” is not in the log.', query.search)
        );
        next.current.query = { offset: back, fresh: false };
        return !hasEnded(job);
      }
      setTrouble(error.message);
      if (error.status === 0 || error.status >= 500) {
        throw error; // the same again, later
      }
      setPart(NOTHING); // no such ranks, or no such job: what is shown is another's
      return false;
    }
  });
  const go = (query: ILogQuery): void => {
    turn.current++;
    next.current.query = { ...query, fresh: true };
    refresh();
  };
  useEffect(() => {
    setTrouble('');
  }, [key]);
  useEffect(
    () => () => {
      // what is still on its way is asked for again when this is seen again
      turn.current++;
    },
    []
  );

  return {
    lines,
    from,
    trouble,
    first: lines.length ? lines[0].time : null,
    firstError: () => go({ offset: 'start', firstError: true }),
    find: text => go({ offset: next.current.query.offset, search: text }),
    calm: () => setTrouble(''),
    fromStart: () => go({ offset: 'start' }),
    toEnd: () => go({ offset: 'end' })
  };
}
