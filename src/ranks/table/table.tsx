import { TranslationBundle } from '@jupyterlab/translation';
import { useVirtualizer } from '@tanstack/react-virtual';
import React, { useRef } from 'react';

import { InView } from '../../ui/inView';
import { useViewState } from '../../ui/viewState';
import { Verdict } from '../../tokens';
import { columnsOf, IColumn, unitOf } from './columns';
import { IRankMetrics } from '../model/rankMetrics';
import { IPicks } from '../model/picks';
import { ISort, useRowOrder } from './rowOrder';
import { moveInTable } from './tableKeys';

const ROW_HEIGHT = 28;
/** Maximum number of rows without scrolling; more rows scroll in their own area. */
const MOST_SHOWN = 64;

/**
 * All ranks, by default conspicuous ones first, then the slowest; one tab stop, arrows, Home and End; the
 * headers are above the first row.
 */
export function RankTable(
  props: IPicks & {
    rankMetrics: readonly IRankMetrics[];
    /** The verdict that keeps them from continuing. */
    alarm: Verdict | null;
    trans: TranslationBundle;
  }
): JSX.Element {
  const { selected, trans } = props;
  const [sort, setSort] = useViewState<ISort>('sort', {
    key: 'own',
    down: true
  });
  const scroll = useRef<HTMLDivElement>(null);
  const columns = columnsFor(props);
  const column = columns.find(c => c.key === sort.key) ?? columns[0];
  const { rows, exact } = useRowOrder(props.rankMetrics, column, sort, scroll);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 8,
    initialRect: { width: 800, height: 280 }
  });
  const ranks = rows.map(f => f.rank.rank);
  const at = Math.max(
    0,
    ranks.findIndex(rank => rank === selected)
  );
  const drawn = virtual.getVirtualItems();
  // the selected row may be out of view, and not drawn: the table must still be reachable by keyboard
  const stop = drawn.some(item => item.index === at) ? at : drawn[0]?.index;
  return (
    <div
      ref={scroll}
      className="jp-DtrainRanks-table"
      data-many={rows.length > MOST_SHOWN || undefined}
      role="grid"
      aria-label={trans.__('Ranks')}
      aria-rowcount={rows.length + 1}
      style={tracks(columns)}
      onKeyDown={event =>
        moveInTable(event, {
          ranks,
          selected: at,
          stop,
          host: scroll,
          onGo: index => {
            props.onSelect(ranks[index]);
            virtual.scrollToIndex(index);
          }
        })
      }
    >
      <Heads
        columns={columns}
        sort={sort}
        exact={exact}
        onSort={setSort}
        trans={trans}
      />
      <div
        role="rowgroup"
        className="jp-DtrainRanks-tableBody"
        style={{ height: virtual.getTotalSize() }}
      >
        {drawn.map(({ index, start }) => (
          <Row
            key={ranks[index]}
            rankMetrics={rows[index]}
            columns={columns}
            index={index}
            top={start}
            stop={index === stop}
            selected={selected}
            onSelect={props.onSelect}
            onMenu={props.onMenu}
          />
        ))}
      </div>
    </div>
  );
}

/** The columns for these ranks. */
function columnsFor({
  rankMetrics,
  alarm,
  trans
}: Parameters<typeof RankTable>[0]): IColumn[] {
  const columns = columnsOf(
    trans,
    rankMetrics.some(f => f.rank.device.startsWith('cuda')),
    unitOf(rankMetrics),
    new Set(rankMetrics.map(f => f.rank.node)).size,
    alarm,
    rankMetrics.some(f => f.rank.asleep_s)
  );
  // columns of dashes make room for where ranks stand
  return columns.filter(
    ({ ofSteps, value }) =>
      !alarm || !ofSteps || rankMetrics.some(f => value(f) !== null)
  );
}

/** The heads of the columns, which sort by them. */
function Heads(props: {
  columns: readonly IColumn[];
  sort: ISort;
  /** Whether the rows show that order exactly. */
  exact: boolean;
  onSort: (sort: ISort) => void;
  trans: TranslationBundle;
}): JSX.Element {
  const { columns, sort, exact, onSort, trans } = props;
  const direction = sort.down ? 'descending' : 'ascending';
  return (
    <div role="row" className="jp-DtrainRanks-tableHead" aria-rowindex={1}>
      {columns.map(({ key, head, number, minWidth }) => (
        <span
          key={key}
          role="columnheader"
          data-number={number || undefined}
          data-min-width={minWidth}
          aria-sort={key === sort.key ? direction : 'none'}
        >
          <button
            type="button"
            tabIndex={-1}
            title={
              key === sort.key && !exact
                ? trans.__(
                    'Roughly in this order: rows change places once their values differ by more than noise'
                  )
                : undefined
            }
            onClick={() =>
              onSort({ key, down: key === sort.key ? !sort.down : !!number })
            }
          >
            {head}
            {key === sort.key && (
              <span aria-hidden="true">
                {exact ? ' ' : ' ≈'}
                {sort.down ? '▾' : '▴'}
              </span>
            )}
          </button>
        </span>
      ))}
    </div>
  );
}

/** The row of a rank. */
function Row(
  props: IPicks & {
    rankMetrics: IRankMetrics;
    columns: readonly IColumn[];
    index: number;
    /** Pixels from the first row. */
    top: number;
    /** Whether it is the tab stop. */
    stop: boolean;
  }
): JSX.Element {
  const { rankMetrics, columns, index } = props;
  const { rank, slow, state } = rankMetrics.rank;
  return (
    <InView
      role="row"
      aria-rowindex={index + 2}
      aria-selected={rank === props.selected}
      data-row={rank}
      data-slow={slow || undefined}
      data-attention={state === 'stuck' || state === 'lost' || undefined}
      tabIndex={props.stop ? 0 : -1}
      style={{ top: props.top }}
      onClick={() => props.onSelect(rank)}
      onContextMenu={event => props.onMenu(event, [rank])}
      draw={() => <Cells columns={columns} rankMetrics={rankMetrics} />}
    />
  );
}

/** The cells of a row. */
function Cells(props: {
  columns: readonly IColumn[];
  rankMetrics: IRankMetrics;
}): JSX.Element {
  return (
    <>
      {props.columns.map(c => {
        const shown = c.show(props.rankMetrics);
        return (
          <span
            key={c.key}
            role="gridcell"
            data-number={c.number || undefined}
            data-min-width={c.minWidth}
            title={c.number ? undefined : titleOf(shown)}
          >
            {shown}
          </span>
        );
      })}
    </>
  );
}

/** Grid tracks by available width: all columns, or the most important ones. */
function tracks(columns: readonly IColumn[]): React.CSSProperties {
  const middle = columns.filter(c => c.minWidth !== 'wide');
  const little = middle.filter(c => c.minWidth !== 'middle');
  const narrow = little.filter(c => c.minWidth !== 'little');
  return {
    '--wide': columns.map(c => c.width).join(' '),
    '--middle': middle.map(c => c.width).join(' '),
    '--little': little.map(c => c.width).join(' '),
    '--narrow': narrow.map(c => c.width).join(' ')
  } as React.CSSProperties;
}

/** A cell may be too narrow for its text, which is then its tooltip; numbers always fit. */
function titleOf(shown: React.ReactNode): string | undefined {
  return typeof shown === 'string' ? shown : undefined;
}
