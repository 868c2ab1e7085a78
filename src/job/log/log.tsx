import { TranslationBundle } from '@jupyterlab/translation';
import { useVirtualizer } from '@tanstack/react-virtual';
import React, { useEffect, useMemo, useRef } from 'react';

import { Job } from '../../tokens';
import { useViewState, useViewStateRef } from '../../ui/viewState';
import { useFind } from './find';
import { causeOf } from './causedErrors';
import { goesOn, isOf, rowsOf } from './lines';
import { LogRow } from './logRow';
import { JobRequests } from '../model/requests';
import { useLog } from './logReader';
import { LogToolbar } from './logToolbar';
import { hasEnded, whyNoError } from '../model/texts';

const ROW_HEIGHT = 19;
/** Number of rows before the last one at which more are read. */
const NEAR = 500;
const NONE: ReadonlySet<string> = new Set();

/** The log of a job: time, ranks, text. */
export function JobLog(props: {
  jobs: JobRequests;
  job: Job;
  trans: TranslationBundle;
  openCell: (cell: string, line: number) => void;
}): JSX.Element {
  const { jobs, job, trans } = props;
  const [ranks, setRanks] = useViewState('log ranks', '');
  const [fold, setFold] = useViewState('log fold', true);
  const [open, setOpen] = useViewState('log open', NONE);
  const noError = whyNoError(job, trans);
  const failed = noError === null ? (job.error?.rank ?? null) : null;
  const [follow, setFollow] = useViewState(
    'log follow',
    failed === null && !hasEnded(job)
  );
  const isAtEnd = useRef((): boolean => true);
  const reader = useLog(jobs, job, ranks, () => isAtEnd.current(), trans);
  const cause = useMemo(() => causeOf(job.error), [job.error]);
  const rows = useMemo(
    () => rowsOf(reader.lines, fold, open, reader.from, cause),
    [reader.lines, fold, open, reader.from, cause]
  );
  const host = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => host.current,
    getItemKey: index => rows[index].key,
    estimateSize: () => ROW_HEIGHT,
    overscan: 20
  });
  const count = rows.length;
  isAtEnd.current = () =>
    follow || (virtual.range?.endIndex ?? count) + NEAR > count;
  useEffect(() => {
    if (follow && count) {
      virtual.scrollToIndex(count - 1);
    }
  }, [virtual, count, follow]);
  useEffect(() => {
    if (failed !== null) {
      setFollow(false);
    }
  }, [failed, setFollow]);
  /** Key of the row that was scrolled into view, until the user scrolls elsewhere. */
  const held = useRef<string | null>(null);
  /** The part whose error was scrolled into view, once; after that the user scrolls. */
  const brought = useViewStateRef<string | null>('log brought', null);
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
  useEffect(() => {
    const part = `${reader.first} ${failed}`;
    if (follow || failed === null || brought.current === part) {
      return;
    }
    const of = rows.filter(r => r.error && isOf(r, failed));
    const at = rows.indexOf(of.find(r => r.failed) ?? of[0]);
    if (at >= 0) {
      brought.current = part;
      held.current = rows[at].key;
      virtual.scrollToIndex(Math.max(0, at - 2), { align: 'start' });
    }
  }, [virtual, rows, reader.first, failed, follow, brought]);
  const resized = useRef(() => undefined as void);
  resized.current = () => {
    const at = rows.findIndex(r => r.key === held.current);
    if (follow && count) {
      virtual.scrollToIndex(count - 1);
    } else if (at >= 0) {
      virtual.scrollToIndex(Math.max(0, at - 2), { align: 'start' });
    }
  };
  useEffect(() => {
    // charts that are drawn above it take space from its end
    const observer = new ResizeObserver(() => resized.current());
    observer.observe(host.current!);
    return () => observer.disconnect();
  }, []);
  const letGo = (): void => {
    held.current = null;
  };
  const { hit, find } = useFind(
    rows,
    reader,
    () => virtual.range?.startIndex ?? 0,
    index => virtual.scrollToIndex(index, { align: 'center' })
  );
  const toError = (): void => {
    if (failed === null) {
      return;
    }
    setFollow(false);
    brought.current = null;
    reader.firstError();
  };
  const toggleFollow = (): void => {
    // show the last lines of a complete log, once
    const on = !follow || hasEnded(job);
    if (on) {
      reader.toEnd();
      virtual.scrollToIndex(count - 1);
    }
    setFollow(on);
  };
  const keys = (event: React.KeyboardEvent): void => {
    if (event.key === 'f' && (event.ctrlKey || event.metaKey)) {
      const field =
        event.currentTarget.querySelector<HTMLInputElement>(
          'input[type=search]'
        );
      event.preventDefault(); // the browser's own finds only the lines that are drawn
      event.stopPropagation();
      field?.focus();
      field?.select();
      return;
    }
    if (event.target instanceof HTMLInputElement || event.ctrlKey) {
      return;
    }
    if (event.key === 'e' || event.key === 'E') {
      toError();
    } else if (event.key === 'f' || event.key === 'F') {
      toggleFollow();
    }
  };
  return (
    <section
      className="jp-DtrainJob-log"
      aria-label={trans.__('Log of %1', job.name)}
      onKeyDown={keys}
      onKeyDownCapture={letGo}
      onPointerDownCapture={letGo}
    >
      <LogToolbar
        size={job.world.size}
        ranks={ranks}
        setRanks={setRanks}
        fold={fold}
        setFold={wanted => {
          setFold(wanted);
          setOpen(NONE);
        }}
        follow={follow && !hasEnded(job)}
        ended={hasEnded(job)}
        toggleFollow={toggleFollow}
        noError={noError}
        toError={toError}
        toStart={() => {
          setFollow(false);
          brought.current = `${reader.first} ${failed}`;
          reader.fromStart();
          virtual.scrollToIndex(0, { align: 'start' });
        }}
        find={text => {
          setFollow(false);
          find(text);
        }}
        trans={trans}
      />
      {reader.error && (
        <p className="jp-DtrainUi-note" role="status">
          {reader.error}
        </p>
      )}
      <div
        ref={host}
        className="jp-DtrainJob-logRows"
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={trans.__('Lines')}
        onScroll={() => {
          const at = virtual.range?.startIndex ?? 0;
          place.current = rows[at]?.key ?? null;
        }}
        onWheel={event => {
          letGo();
          if (event.deltaY < 0) {
            setFollow(false);
          }
        }}
      >
        {count === 0 && !reader.error && (
          <p className="jp-DtrainJob-logEmpty">
            {hasEnded(job)
              ? trans.__('No rank has written a line.')
              : trans.__('No line yet. What ranks write appears here.')}
          </p>
        )}
        <div style={{ height: virtual.getTotalSize(), position: 'relative' }}>
          {virtual.getVirtualItems().map(item => {
            const row = rows[item.index];
            return (
              <div
                key={item.key}
                ref={virtual.measureElement}
                data-index={item.index}
                data-error={row.failed || undefined}
                data-stderr={
                  (row.error && !row.failed && !row.follows) || undefined
                }
                data-follows={row.follows || undefined}
                data-culprit={(row.failed && isOf(row, failed)) || undefined}
                data-hit={row.key === hit?.key || undefined}
                data-goes-on={goesOn(rows[item.index - 1], row) || undefined}
                className="jp-DtrainJob-logRow"
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <LogRow
                  row={row}
                  found={hit?.text ?? ''}
                  cause={cause}
                  trans={trans}
                  unfold={() => setOpen(new Set([...open, row.key]))}
                  openCell={props.openCell}
                />
              </div>
            );
          })}
        </div>
      </div>
    </section>
  );
}
