import { TranslationBundle } from '@jupyterlab/translation';
import React, { useEffect, useLayoutEffect, useMemo, useRef } from 'react';

import { IJobs, Job } from '../../tokens';
import { useViewState } from '../../ui/viewState';
import { rowsOfBars } from './bars';
import { useFind } from './find';
import { causeOf, ICause } from './causedErrors';
import { ILogRow, rowsOf } from './lines';
import { IReader, useLog } from './logReader';
import { LogRows } from './logRows';
import { useLogScroll } from './logScroll';
import { LogToolbar } from './logToolbar';
import { hasEnded } from '../model/states';
import { whyNoError } from '../model/texts';

const NONE: ReadonlySet<string> = new Set();

/** The log of a job: time, ranks, text. */
export function JobLog(props: {
  jobs: IJobs;
  job: Job;
  trans: TranslationBundle;
  openCell: (cell: string, line: number) => void;
}): JSX.Element {
  const { jobs, job, trans } = props;
  const [ranks, setRanks] = useViewState('log ranks', '');
  const [fold, setFold] = useViewState('log fold', true);
  const [open, setOpen] = useViewState('log open', NONE);
  const ended = hasEnded(job);
  const noError = whyNoError(job, trans);
  const failed = noError === null ? (job.error?.rank ?? null) : null;
  const [follow, setFollow] = useViewState(
    'log follow',
    failed === null && !ended
  );
  const isAtEnd = useRef((): boolean => true);
  const reader = useLog(jobs, job, ranks, () => isAtEnd.current(), trans);
  const cause = useMemo(() => causeOf(job.error), [job.error]);
  const rows = useRows(reader, fold, open, cause);
  const scroll = useLogScroll({
    rows,
    follow,
    ended,
    failed,
    part: reader.first
  });
  useLayoutEffect(() => {
    isAtEnd.current = scroll.isAtEnd;
  });
  useEffect(() => {
    if (failed !== null) {
      setFollow(false);
    }
  }, [failed, setFollow]);
  const { hit, found, find } = useFind(
    rows,
    reader,
    scroll.firstVisible,
    scroll.toMiddle
  );
  const toError = (): void => {
    if (failed !== null) {
      setFollow(false);
      scroll.bringError();
      reader.firstError();
    }
  };
  const toStart = (): void => {
    setFollow(false);
    scroll.leaveError();
    reader.fromStart();
    scroll.toFirst();
  };
  const toggleFollow = (): void => {
    // the last lines of a complete log are shown once
    if (!follow || ended) {
      reader.toEnd();
      scroll.toLast();
    }
    setFollow(!follow && !ended);
  };
  return (
    <section
      className="jp-DtrainJob-log"
      aria-label={trans.__('Log of %1', job.name)}
      onKeyDown={event => onKey(event, toError, toggleFollow)}
      onKeyDownCapture={scroll.letGo}
      onPointerDownCapture={scroll.letGo}
    >
      <LogToolbar
        size={job.world.size}
        ranks={ranks}
        setRanks={wanted => {
          setRanks(wanted);
          if (ended && failed === null) {
            scroll.toLast();
          }
        }}
        fold={fold}
        setFold={wanted => {
          setFold(wanted);
          setOpen(NONE);
        }}
        follow={follow && !ended}
        ended={ended}
        toggleFollow={toggleFollow}
        noError={noError}
        toError={toError}
        toStart={toStart}
        found={found}
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
      <LogRows
        rows={rows}
        scroll={scroll}
        failed={failed}
        cause={cause}
        hit={hit}
        empty={reader.error ? '' : emptyNote(ended, trans)}
        unfold={key => setOpen(new Set([...open, key]))}
        openCell={props.openCell}
        scrolledUp={() => setFollow(false)}
        trans={trans}
      />
    </section>
  );
}

/** The rows of the loaded lines, then the progress bars. */
function useRows(
  reader: IReader,
  fold: boolean,
  open: ReadonlySet<string>,
  cause: ICause | null
): ILogRow[] {
  const { lines, bars, from, isCut } = reader;
  const written = useMemo(
    () => rowsOf(lines, fold, open, from, cause, isCut),
    [lines, fold, open, from, cause, isCut]
  );
  return useMemo(() => [...written, ...rowsOfBars(bars)], [written, bars]);
}

/** What to say of a log without lines. */
function emptyNote(ended: boolean, trans: TranslationBundle): string {
  return ended
    ? trans.__('No rank has written a line.')
    : trans.__('No line yet. What ranks write appears here.');
}

/** Keys of a log: Ctrl+F to its field, E to the first error, F to follow it. */
function onKey(
  event: React.KeyboardEvent,
  toError: () => void,
  toggleFollow: () => void
): void {
  if (event.key === 'f' && (event.ctrlKey || event.metaKey)) {
    const field =
      event.currentTarget.querySelector<HTMLInputElement>('input[type=search]');
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
}
