import { TranslationBundle } from '@jupyterlab/translation';
import { useEffect, useRef, useState } from 'react';

import { Job, LogLine } from '../../tokens';
import { ILogQuery, Jobs } from '../model/model';
import { usePoll } from '../model/poll';
import { refusalOf } from '../model/refusal';
import { hasEnded } from '../model/words';

const POLL_MS = 150;
/** Lines kept in the page; the whole log is on disk. */
const MOST = 20_000;

/** What is read of a log, and how to read another part. */
export interface IReader {
  lines: readonly LogLine[];
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

/** Reads a log in pieces, and goes on as it grows, also after the network was away. */
export function useLog(
  jobs: Jobs,
  job: Job,
  ranks: string,
  trans: TranslationBundle
): IReader {
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  const [trouble, setTrouble] = useState('');
  const failed = !!job.error;
  const begin = (): INext => ({
    offset: failed ? 'start' : 'end',
    firstError: failed,
    fresh: true
  });
  const key = `${job.id} ${ranks} ${failed}`;
  const next = useRef<{ key: string; query: INext }>({ key, query: begin() });
  const turn = useRef(0);
  if (next.current.key !== key) {
    next.current = { key, query: begin() };
    turn.current++;
  }

  const refresh = usePoll(`log ${key} ${hasEnded(job)}`, POLL_MS, async () => {
    const { fresh, back, ...query } = next.current.query;
    const mine = turn.current;
    try {
      const piece = await jobs.logs(job.id, { ranks, ...query });
      if (mine !== turn.current) {
        return true; // somebody wants another part
      }
      setTrouble('');
      next.current.query = { offset: piece.offset, fresh: false };
      if (fresh) {
        setLines(piece.lines);
      } else if (piece.lines.length) {
        setLines(before => [...before, ...piece.lines].slice(-MOST));
      }
      return fresh || piece.lines.length > 0 || !hasEnded(job);
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
            ? trans.__('“%1” is in no line of ranks %2.', query.search, ranks)
            : trans.__('“%1” is not in the log.', query.search)
        );
        next.current.query = { offset: back, fresh: false };
        return !hasEnded(job);
      }
      setTrouble(error.message);
      if (error.status === 0 || error.status >= 500) {
        throw error; // the same again, later
      }
      setLines([]); // no such ranks, or no such job: what is shown is another's
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

  return {
    lines,
    trouble,
    first: lines.length ? lines[0].time : null,
    firstError: () => go({ offset: 'start', firstError: true }),
    find: text => go({ offset: next.current.query.offset, search: text }),
    calm: () => setTrouble(''),
    fromStart: () => go({ offset: 'start' }),
    toEnd: () => go({ offset: 'end' })
  };
}
