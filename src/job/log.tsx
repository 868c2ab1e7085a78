import { TranslationBundle } from '@jupyterlab/translation';
import { useVirtualizer } from '@tanstack/react-virtual';
import React, { useEffect, useMemo, useRef, useState } from 'react';

import { RequestError } from '../request/rest';
import { Job, LogLine } from '../tokens';
import { followsFrom, placeOf, rowsOf } from './lines';
import { Jobs } from './model';
import { hasEnded } from './words';

const ROW_HEIGHT = 19;
const POLL_MS = 150;
/** Lines kept in the page; the whole log is on disk. */
const MOST = 20_000;

interface IReader {
  lines: readonly LogLine[];
  error: string;
  firstError(): void;
  find(text: string): void;
  fromStart(): void;
  /** Time of the first line; changes when another part is read. */
  first: number | null;
}

const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23'
});

/** Reads a log in pieces, and goes on as it grows. */
function useLog(jobs: Jobs, job: Job, ranks: string, follow: boolean): IReader {
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  const [error, setError] = useState('');
  const offset = useRef<string>('');
  const turn = useRef(0);
  const ended = hasEnded(job);

  const take = async (
    start: string,
    more: { firstError?: boolean; search?: string } = {}
  ): Promise<boolean> => {
    const mine = ++turn.current;
    const fresh =
      start !== offset.current || !!more.search || !!more.firstError;
    try {
      const piece = await jobs.logs(job.id, { offset: start, ranks, ...more });
      if (mine !== turn.current) {
        return false;
      }
      setError('');
      offset.current = piece.offset;
      if (fresh) {
        setLines(piece.lines);
      } else if (piece.lines.length) {
        setLines(before => [...before, ...piece.lines].slice(-MOST));
      }
      return piece.lines.length > 0;
    } catch (failure) {
      if (failure instanceof RequestError) {
        setError(failure.message);
        return false;
      }
      throw failure;
    }
  };

  useEffect(() => {
    let gone = false;
    let timer = 0;
    const go = async (first: boolean): Promise<void> => {
      const start = first
        ? { at: job.error ? 'start' : 'end', firstError: !!job.error }
        : { at: offset.current, firstError: false };
      const some = await take(start.at, { firstError: start.firstError });
      if (!gone && (!ended || some || first)) {
        timer = window.setTimeout(() => void go(false), some ? 50 : POLL_MS);
      }
    };
    void go(true);
    return () => {
      gone = true;
      turn.current++;
      clearTimeout(timer);
    };
    // another job, other ranks, or its end: begin anew
  }, [job.id, ranks, ended, follow]);

  return {
    lines,
    error,
    first: lines.length ? lines[0].time : null,
    firstError: () => void take('start', { firstError: true }),
    find: text => void take(offset.current || 'start', { search: text }),
    fromStart: () => void take('start')
  };
}

/** The log of a job: time, ranks, text. */
export function JobLog(props: {
  jobs: Jobs;
  job: Job;
  trans: TranslationBundle;
  openCell: (cell: string, line: number) => void;
}): JSX.Element {
  const { jobs, job, trans } = props;
  const [ranks, setRanks] = useState('');
  const [text, setText] = useState('');
  const [fold, setFold] = useState(true);
  const [follow, setFollow] = useState(!hasEnded(job));
  const reader = useLog(jobs, job, ranks, follow);
  const rows = useMemo(() => rowsOf(reader.lines, fold), [reader.lines, fold]);
  const host = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => host.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 20
  });
  useEffect(() => {
    if (follow && rows.length) {
      virtual.scrollToIndex(rows.length - 1);
    }
  }, [rows.length, follow]);
  const failed = job.error?.rank ?? null;
  useEffect(() => {
    if (failed !== null) {
      setFollow(false);
    }
  }, [failed]);
  useEffect(() => {
    const own = `${failed}`;
    const at = rows.findIndex(r => r.error && r.ranks === own);
    if (!follow && failed !== null && at >= 0) {
      virtual.scrollToIndex(Math.max(0, at - 2), { align: 'start' });
    }
  }, [reader.first, failed]);
  const keys = (event: React.KeyboardEvent): void => {
    if (event.target instanceof HTMLInputElement || event.ctrlKey) {
      return;
    }
    if (event.key === 'e' || event.key === 'E') {
      setFollow(false);
      reader.firstError();
    } else if (event.key === 'f' || event.key === 'F') {
      setFollow(!follow);
    }
  };
  return (
    <section
      className="jp-Dtrain-log"
      aria-label={trans.__('Log of %1', job.name)}
      onKeyDown={keys}
    >
      <div className="jp-Dtrain-viewHead">
        <input
          value={ranks}
          className="jp-Dtrain-rankSet"
          placeholder={trans.__('All ranks')}
          aria-label={trans.__('Ranks')}
          onChange={event => setRanks(event.target.value.trim())}
        />
        <input
          type="search"
          value={text}
          placeholder={trans.__('Find in the log')}
          aria-label={trans.__('Find in the log')}
          onChange={event => setText(event.target.value)}
          onKeyDown={event => {
            if (event.key === 'Enter' && text) {
              setFollow(false);
              reader.find(text);
            }
          }}
        />
        <button
          type="button"
          className="jp-Dtrain-button"
          aria-pressed={fold}
          onClick={() => setFold(!fold)}
        >
          {trans.__('Fold repeats')}
        </button>
        <button
          type="button"
          className="jp-Dtrain-button"
          disabled={!job.error}
          onClick={() => {
            setFollow(false);
            reader.firstError();
          }}
        >
          {trans.__('First error')}
        </button>
        <button
          type="button"
          className="jp-Dtrain-button"
          onClick={() => {
            setFollow(false);
            reader.fromStart();
          }}
        >
          {trans.__('Start')}
        </button>
        <button
          type="button"
          className="jp-Dtrain-button"
          aria-pressed={follow}
          onClick={() => setFollow(!follow)}
        >
          {trans.__('Follow')}
        </button>
      </div>
      {reader.error && (
        <p className="jp-Dtrain-note" role="status">
          {reader.error}
        </p>
      )}
      <div
        ref={host}
        className="jp-Dtrain-logRows"
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={trans.__('Lines')}
        onWheel={event => {
          if (event.deltaY < 0) {
            setFollow(false);
          }
        }}
      >
        <div style={{ height: virtual.getTotalSize(), position: 'relative' }}>
          {virtual.getVirtualItems().map(item => {
            const row = rows[item.index];
            const place = placeOf(row.text);
            return (
              <div
                key={item.key}
                ref={virtual.measureElement}
                data-index={item.index}
                data-error={row.error || undefined}
                className="jp-Dtrain-logRow"
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <time>{clock.format(row.time * 1000)}</time>
                <span className="jp-Dtrain-logRanks">{row.ranks}</span>
                <span className="jp-Dtrain-logText">
                  {row.frames > 0 ? (
                    <button
                      type="button"
                      className="jp-Dtrain-link"
                      onClick={() => setFold(false)}
                    >
                      {trans._n(
                        '%1 library frame',
                        '%1 library frames',
                        row.frames
                      )}
                    </button>
                  ) : place ? (
                    <button
                      type="button"
                      className="jp-Dtrain-link"
                      onClick={() => props.openCell(place.cell, place.line)}
                    >
                      {row.text}
                    </button>
                  ) : (
                    row.text
                  )}
                  {row.error && followsFrom(row.text) && (
                    <span className="jp-Dtrain-under">
                      {' '}
                      {trans.__('(follows from another rank)')}
                    </span>
                  )}
                  {row.like > 0 && (
                    <span className="jp-Dtrain-under">
                      {' '}
                      {trans._n(
                        '(%1 more like this)',
                        '(%1 more like this)',
                        row.like
                      )}
                    </span>
                  )}
                </span>
              </div>
            );
          })}
        </div>
      </div>
    </section>
  );
}
