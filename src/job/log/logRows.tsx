import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { ICause } from './causedErrors';
import { IHit } from './find';
import { goesOn, ILogRow, isOf } from './lines';
import { LogRow } from './logRow';
import { ILogScroll } from './logScroll';

/** The rows of a log that are in view, and what is there instead of any. */
export function LogRows(props: {
  rows: readonly ILogRow[];
  scroll: ILogScroll;
  /** The rank whose error is marked; null if no rank has failed. */
  failed: number | null;
  cause: ICause | null;
  hit: IHit | null;
  /** What to say without rows; empty if something else is said. */
  empty: string;
  unfold: (key: string) => void;
  openCell: (cell: string, line: number) => void;
  /** Called when the user scrolls up. */
  scrolledUp: () => void;
  trans: TranslationBundle;
}): JSX.Element {
  const { rows, scroll, failed, cause, hit, trans } = props;
  const { host, virtual } = scroll;
  return (
    <div
      ref={host}
      className="jp-DtrainJob-logRows"
      tabIndex={0}
      role="log"
      aria-live="off"
      aria-label={trans.__('Lines')}
      onScroll={scroll.remember}
      onWheel={event => {
        scroll.letGo();
        if (event.deltaY < 0) {
          props.scrolledUp();
        }
      }}
    >
      {rows.length === 0 && props.empty && (
        <p className="jp-DtrainJob-logEmpty">{props.empty}</p>
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
                unfold={() => props.unfold(row.key)}
                openCell={props.openCell}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}
