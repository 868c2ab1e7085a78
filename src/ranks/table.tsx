import { TranslationBundle } from '@jupyterlab/translation';
import { useVirtualizer } from '@tanstack/react-virtual';
import React, { useRef, useState } from 'react';

import {
  formatGiB,
  formatRate,
  formatShare,
  formatTime,
  UNKNOWN
} from '../ui/format';
import { Glyph } from '../ui/glyph';
import { useSteadyOrder } from '../ui/order';
import { stateWord } from '../ui/sentence';
import { IRankFigures } from './figures';

const ROW_HEIGHT = 28;

interface IColumn {
  key: string;
  head: string;
  value: (f: IRankFigures) => number | string | null;
  show: (f: IRankFigures) => React.ReactNode;
  number?: boolean;
}

function columnsOf(
  trans: TranslationBundle,
  gpus: boolean,
  slowFrom: number
): IColumn[] {
  const time = (
    key: string,
    head: string,
    value: (f: IRankFigures) => number | null
  ): IColumn => ({
    key,
    head,
    value,
    show: f => formatTime(value(f)),
    number: true
  });
  const memory = (f: IRankFigures): number | null =>
    gpus ? f.rank.device_memory_bytes : f.rank.memory_bytes;
  const use = (f: IRankFigures): number | null =>
    gpus ? f.rank.device_utilization : f.rank.cpu_utilization;
  return [
    {
      key: 'rank',
      head: trans.__('Rank'),
      value: f => f.rank.rank,
      show: f => (
        <>
          <Glyph kind={f.rank.state} label={stateWord(f.rank.state, trans)} />{' '}
          {f.rank.rank}
        </>
      )
    },
    {
      key: 'node',
      head: trans.__('Node'),
      value: f => f.rank.node,
      show: f => f.rank.node
    },
    {
      key: 'device',
      head: trans.__('Device'),
      value: f => f.rank.device,
      show: f => f.rank.device
    },
    {
      key: 'doing',
      head: trans.__('Doing'),
      value: f => f.rank.doing,
      show: f => f.rank.doing ?? stateWord(f.rank.state, trans)
    },
    {
      ...time('own', trans.__('Own'), f => f.own),
      show: f => (
        <>
          {formatTime(f.own)}
          {f.over !== null && f.over >= slowFrom && (
            <b> +{Math.round(f.over * 100)} %</b>
          )}
        </>
      )
    },
    time('data', trans.__('Data'), f => f.rank.data_s),
    time('transfer', trans.__('Transfer'), f => f.transfer),
    time('waiting', trans.__('Waiting'), f => f.waiting),
    {
      key: 'samples',
      head: trans.__('Samples/s'),
      value: f => f.rank.samples_per_s,
      show: f => formatRate(f.rank.samples_per_s),
      number: true
    },
    {
      key: 'memory',
      head: gpus ? trans.__('GPU memory') : trans.__('Memory'),
      value: memory,
      show: f => (memory(f) === null ? UNKNOWN : `${formatGiB(memory(f))} GiB`),
      number: true
    },
    {
      key: 'use',
      head: gpus ? trans.__('GPU use') : trans.__('CPU use'),
      value: use,
      show: f => formatShare(use(f)),
      number: true
    },
    {
      key: 'seen',
      head: trans.__('Seen'),
      value: f => f.rank.last_seen_s,
      show: f => formatTime(f.rank.last_seen_s),
      number: true
    }
  ];
}

/** All ranks, slowest first unless told; one tab stop, arrows, Home and End. */
export function RankTable(props: {
  figures: readonly IRankFigures[];
  selected: number | null;
  onSelect: (rank: number) => void;
  onMenu: (
    event: React.MouseEvent<HTMLElement>,
    ranks: readonly number[]
  ) => void;
  /** Share above the median from which a rank is marked. */
  slowFrom: number;
  trans: TranslationBundle;
}): JSX.Element {
  const { figures, selected, slowFrom, trans } = props;
  const [sort, setSort] = useState({ key: 'own', down: true });
  const scroll = useRef<HTMLDivElement>(null);
  const gpus = figures.some(f => f.rank.device.startsWith('cuda'));
  const columns = columnsOf(trans, gpus, slowFrom);
  const column = columns.find(c => c.key === sort.key) ?? columns[0];
  const order = useSteadyOrder(
    () =>
      [...figures]
        .sort((a, b) => compare(column, a, b, sort.down))
        .map(f => f.rank.rank),
    `${sort.key} ${sort.down} ${figures.map(f => f.rank.rank).join()}`,
    scroll
  );
  const byRank = new Map(figures.map(f => [f.rank.rank, f]));
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
  const move = (event: React.KeyboardEvent): void => {
    const to = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      Home: 0,
      End: rows.length - 1
    }[event.key];
    if (to !== undefined && rows[to]) {
      event.preventDefault();
      props.onSelect(rows[to].rank.rank);
      virtual.scrollToIndex(to);
      const rank = rows[to].rank.rank;
      requestAnimationFrame(() =>
        scroll.current
          ?.querySelector<HTMLElement>(`[data-row="${rank}"]`)
          ?.focus()
      );
    }
  };
  return (
    <div
      ref={scroll}
      className="jp-Dtrain-table"
      role="grid"
      aria-label={trans.__('Ranks')}
      aria-rowcount={rows.length + 1}
      onKeyDown={move}
    >
      <div role="row" className="jp-Dtrain-tableHead" aria-rowindex={1}>
        {columns.map(c => (
          <span
            key={c.key}
            role="columnheader"
            data-number={c.number || undefined}
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
        className="jp-Dtrain-tableBody"
        style={{ height: virtual.getTotalSize() }}
      >
        {virtual.getVirtualItems().map(item => {
          const f = rows[item.index];
          const chosen = f.rank.rank === selected;
          return (
            <div
              key={f.rank.rank}
              role="row"
              aria-rowindex={item.index + 2}
              aria-selected={chosen}
              data-row={f.rank.rank}
              data-slow={(f.over ?? 0) >= slowFrom || undefined}
              data-trouble={
                f.rank.state === 'stuck' || f.rank.state === 'lost' || undefined
              }
              tabIndex={item.index === at ? 0 : -1}
              style={{ transform: `translateY(${item.start}px)` }}
              onClick={() => props.onSelect(f.rank.rank)}
              onContextMenu={event => props.onMenu(event, [f.rank.rank])}
            >
              {columns.map(c => (
                <span
                  key={c.key}
                  role="gridcell"
                  data-number={c.number || undefined}
                >
                  {c.show(f)}
                </span>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** What is not known comes last; equal values by rank. */
function compare(
  column: IColumn,
  a: IRankFigures,
  b: IRankFigures,
  down: boolean
): number {
  const [x, y] = [column.value(a), column.value(b)];
  if (x === y) {
    return a.rank.rank - b.rank.rank;
  }
  if (x === null || y === null) {
    return x === null ? 1 : -1;
  }
  return (x < y ? -1 : 1) * (down ? -1 : 1);
}
