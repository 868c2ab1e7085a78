import { TranslationBundle } from '@jupyterlab/translation';
import { useVirtualizer } from '@tanstack/react-virtual';
import React, { useRef } from 'react';

import { InView } from '../../ui/inView';
import { useViewState } from '../../ui/viewState';
import { settled, SortValue, useSteadyOrder } from '../../ui/steadyOrder';
import { moveFocus } from '../../ui/rovingFocus';
import { Verdict } from '../../tokens';
import { columnsOf, IColumn, unitOf } from './columns';
import { IRankMetrics } from '../model/rankMetrics';
import { IPicks } from '../model/picks';
import { weightOf } from '../model/texts';

const ROW_HEIGHT = 28;
/** Maximum number of rows without scrolling; more rows scroll in their own area. */
const MOST_SHOWN = 64;

/** Sort keys of the rows, those last known where they are unknown now, and their column. */
interface IHeld {
  key: string;
  values: ReadonlyMap<number, SortValue>;
}

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
  const { rankMetrics, selected, trans } = props;
  const [sort, setSort] = useViewState('sort', { key: 'own', down: true });
  const scroll = useRef<HTMLDivElement>(null);
  const held = useRef<IHeld>({ key: '', values: new Map() });
  const gpus = rankMetrics.some(f => f.rank.device.startsWith('cuda'));
  const nodes = new Set(rankMetrics.map(f => f.rank.node)).size;
  const columns = columnsOf(
    trans,
    gpus,
    unitOf(rankMetrics),
    nodes,
    props.alarm,
    rankMetrics.some(f => f.rank.asleep_s)
  );
  const column = columns.find(c => c.key === sort.key) ?? columns[0];
  // a rank that the head calls slow comes first at once, whatever its current time
  const weight = (f: IRankMetrics): number =>
    sort.key === 'own' && sort.down ? weightOf(f.rank) : 0;
  // rows without any value are in the order of their numbers at once, not in that of the values before
  const unknown = rankMetrics.every(f => column.value(f) === null);
  const order = useSteadyOrder(
    () => {
      const { key, values } = held.current;
      const before = key === sort.key ? values : new Map<number, SortValue>();
      const now = settled(
        before,
        new Map(rankMetrics.map(f => [f.rank.rank, column.value(f)]))
      );
      // noise changes no order after a time without values, either
      const known = [...now].filter(([, value]) => value !== null);
      held.current = { key: sort.key, values: new Map([...before, ...known]) };
      return [...rankMetrics]
        .sort((a, b) => weight(a) - weight(b) || compare(now, a, b, sort.down))
        .map(f => f.rank.rank);
    },
    `${sort.key} ${sort.down} ${unknown} ${rankMetrics.map(f => `${f.rank.rank} ${weight(f)}`).join()}`,
    scroll
  );
  const byRank = new Map(rankMetrics.map(f => [f.rank.rank, f]));
  const rows = order.map(rank => byRank.get(rank)!);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 8,
    initialRect: { width: 800, height: 280 }
  });
  const at = Math.max(
    0,
    rows.findIndex(f => f.rank.rank === selected)
  );
  const focusRow = (rank: number | undefined): void => {
    requestAnimationFrame(() =>
      scroll.current
        ?.querySelector<HTMLElement>(`[data-row="${rank}"]`)
        ?.focus()
    );
  };
  const drawn = virtual.getVirtualItems();
  // the selected row may be out of view, and not drawn: the table must still be reachable by keyboard
  const stop = drawn.some(item => item.index === at) ? at : drawn[0]?.index;
  const move = (event: React.KeyboardEvent<HTMLElement>): void => {
    const heads = [
      ...event.currentTarget.querySelectorAll<HTMLElement>(
        '[role=columnheader] button'
      )
    ].filter(head => head.offsetParent !== null);
    if (heads.includes(event.target as HTMLElement)) {
      if (event.key === 'ArrowDown') {
        event.preventDefault();
        focusRow(rows[stop]?.rank.rank);
      } else {
        moveFocus(event, heads, heads.length + 1);
      }
      return;
    }
    // from the focused row, which need not be the selected one
    const own = (event.target as HTMLElement).closest<HTMLElement>(
      '[data-row]'
    );
    const from = own
      ? rows.findIndex(f => `${f.rank.rank}` === own.dataset.row)
      : at;
    if (event.key === 'ArrowUp' && from === 0) {
      event.preventDefault();
      heads[0]?.focus();
      return;
    }
    const to = {
      ArrowDown: from + 1,
      ArrowUp: from - 1,
      Home: 0,
      End: rows.length - 1
    }[event.key];
    if (to !== undefined && rows[to]) {
      event.preventDefault();
      props.onSelect(rows[to].rank.rank);
      virtual.scrollToIndex(to);
      focusRow(rows[to].rank.rank);
    }
  };
  return (
    <div
      ref={scroll}
      className="jp-DtrainRanks-table"
      data-many={rows.length > MOST_SHOWN || undefined}
      role="grid"
      aria-label={trans.__('Ranks')}
      aria-rowcount={rows.length + 1}
      style={tracks(columns)}
      onKeyDown={move}
    >
      <div role="row" className="jp-DtrainRanks-tableHead" aria-rowindex={1}>
        {columns.map(c => (
          <span
            key={c.key}
            role="columnheader"
            data-number={c.number || undefined}
            data-room={c.room}
            aria-sort={
              c.key === sort.key
                ? sort.down
                  ? 'descending'
                  : 'ascending'
                : 'none'
            }
          >
            <button
              type="button"
              tabIndex={-1}
              onClick={() =>
                setSort({
                  key: c.key,
                  down: c.key === sort.key ? !sort.down : !!c.number
                })
              }
            >
              {c.head}
              {c.key === sort.key && (
                <span aria-hidden="true">{sort.down ? ' ▾' : ' ▴'}</span>
              )}
            </button>
          </span>
        ))}
      </div>
      <div
        role="rowgroup"
        className="jp-DtrainRanks-tableBody"
        style={{ height: virtual.getTotalSize() }}
      >
        {drawn.map(item => {
          const f = rows[item.index];
          const chosen = f.rank.rank === selected;
          return (
            <InView
              key={f.rank.rank}
              role="row"
              aria-rowindex={item.index + 2}
              aria-selected={chosen}
              data-row={f.rank.rank}
              data-slow={f.rank.slow || undefined}
              data-trouble={
                f.rank.state === 'stuck' || f.rank.state === 'lost' || undefined
              }
              tabIndex={item.index === stop ? 0 : -1}
              style={{ top: item.start }}
              onClick={() => props.onSelect(f.rank.rank)}
              onContextMenu={event => props.onMenu(event, [f.rank.rank])}
              draw={() => <Cells columns={columns} rankMetrics={f} />}
            />
          );
        })}
      </div>
    </div>
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
            data-room={c.room}
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
  const middle = columns.filter(c => c.room !== 'wide');
  const little = middle.filter(c => c.room !== 'middle');
  const narrow = little.filter(c => c.room !== 'little');
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

/**
 * Unknown values come last; with equal values, conspicuous ranks first, as in the sidebar, then by number.
 */
function compare(
  values: ReadonlyMap<number, SortValue>,
  a: IRankMetrics,
  b: IRankMetrics,
  down: boolean
): number {
  const x = values.get(a.rank.rank) ?? null;
  const y = values.get(b.rank.rank) ?? null;
  if (x === y) {
    return weightOf(a.rank) - weightOf(b.rank) || a.rank.rank - b.rank.rank;
  }
  if (x === null || y === null) {
    return x === null ? 1 : -1;
  }
  return (x < y ? -1 : 1) * (down ? -1 : 1);
}
