import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Rank, Verdict } from '../../tokens';
import {
  formatGiB,
  formatLonger,
  formatRate,
  formatShare,
  UNKNOWN
} from '../../metrics/format';
import { Glyph } from '../../ui/icons/glyph';
import { doing, hangPositionText } from '../model/rankFacts';
import { IRankMetrics } from '../model/rankMetrics';
import { rankGlyph, rankWord } from '../model/texts';

/** A column of the table of ranks: its sort key, and its content. */
export interface IColumn {
  key: string;
  head: string;
  value: (f: IRankMetrics) => number | string | null;
  show: (f: IRankMetrics) => React.ReactNode;
  number?: boolean;
  /** Whether it tells of steps, of which ranks that hang take none. */
  ofSteps?: boolean;
  /** Grid track. */
  width: string;
  /** Minimum width of the table for this column; without it, the column is always shown. */
  minWidth?: 'wide' | 'middle' | 'little';
}

/** Times of a step in milliseconds, or in seconds for long steps. */
export function unitOf(
  rankMetrics: readonly IRankMetrics[]
): ['s' | 'ms', number] {
  const most = Math.max(0, ...rankMetrics.map(f => f.own ?? 0));
  return most >= 10 ? ['s', 1] : ['ms', 1e3];
}

const plain = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

function amount(seconds: number | null, scale: number): string {
  if (seconds === null) {
    return UNKNOWN;
  }
  const value = seconds * scale;
  return value >= 9.95 ? plain.format(value) : fine.format(value);
}

/** Unit of times in the table, and its number per second. */
type Unit = ['s' | 'ms', number];

/**
 * All columns, in order.
 *
 * @param sleeps - whether a verdict says of some ranks that they wait for something else.
 */
export function columnsOf(
  trans: TranslationBundle,
  gpus: boolean,
  unit: Unit,
  nodes: number,
  alarm: Verdict | null,
  sleeps = false
): IColumn[] {
  return [
    ...whichColumns(trans, nodes),
    doingColumn(trans, alarm, sleeps),
    ...timeColumns(trans, unit, sleeps),
    ...resourceColumns(trans, gpus)
  ];
}

/** Which rank it is, and where it runs. */
function whichColumns(trans: TranslationBundle, nodes: number): IColumn[] {
  return [
    {
      key: 'rank',
      head: trans.__('Rank'),
      value: f => f.rank.rank,
      show: f => (
        <>
          <Glyph kind={rankGlyph(f.rank)} label={rankWord(f.rank, trans)} />
          <b>{f.rank.rank}</b>
        </>
      ),
      width: '64px'
    },
    ...(nodes > 1
      ? [
          {
            key: 'node',
            head: trans.__('Node'),
            value: (f: IRankMetrics) => f.rank.node,
            show: (f: IRankMetrics) => f.rank.node,
            width: 'minmax(72px, 1fr)'
          }
        ]
      : []),
    {
      key: 'device',
      head: trans.__('Device'),
      value: f => f.rank.device,
      show: f => f.rank.device,
      width: '68px',
      minWidth: 'wide'
    }
  ];
}

/** What a rank does, or where it stands while there is an alarm. */
function doingColumn(
  trans: TranslationBundle,
  alarm: Verdict | null,
  sleeps: boolean
): IColumn {
  const doingNow = (f: IRankMetrics): string =>
    alarm ? hangPositionText(f.rank, alarm, trans) : doing(f.rank, trans);
  return {
    key: 'doing',
    head: alarm ? trans.__('Where') : trans.__('Doing'),
    value: doingNow,
    show: doingNow,
    // where ranks stand is longer than what they do; of a sleeping loop, there is a column more
    width: alarm
      ? 'minmax(116px, 3fr)'
      : sleeps
        ? 'minmax(84px, 1.3fr)'
        : 'minmax(116px, 1.3fr)'
  };
}

/** What a step's time goes to. */
function timeColumns(
  trans: TranslationBundle,
  [unit, scale]: Unit,
  sleeps: boolean
): IColumn[] {
  const time = (
    key: string,
    head: string,
    value: (f: IRankMetrics) => number | null
  ): IColumn => ({
    key,
    head: `${head} ${unit}`,
    value,
    show: f => amount(value(f), scale),
    number: true,
    ofSteps: true,
    width: 'minmax(86px, 0.9fr)'
  });
  return [
    {
      ...time('own', trans.__('Own'), f => f.own),
      width: 'minmax(98px, 1fr)',
      ofSteps: false, // rows are sorted by it
      // the head decides which rank is slow; its current time may be no longer than that of others
      show: f =>
        f.rank.slow && f.over !== null && f.over >= 0.005 ? (
          <b>
            {amount(f.own, scale)} ({formatLonger(f.over)})
          </b>
        ) : (
          amount(f.own, scale)
        )
    },
    { ...time('data', trans.__('Data'), f => f.rank.data_s), minWidth: 'wide' },
    ...(sleeps
      ? [
          {
            ...time(
              'asleep',
              trans.__('Other waits'),
              f => f.rank.asleep_s ?? null
            ),
            width: 'minmax(112px, 0.9fr)',
            minWidth: 'middle' as const
          }
        ]
      : []),
    {
      ...time('transfer', trans.__('Transfer'), f => f.transfer),
      minWidth: 'middle'
    },
    time('waiting', trans.__('Waiting'), f => f.waiting)
  ];
}

/** Speed, memory and utilization, and when a rank was heard of. */
function resourceColumns(trans: TranslationBundle, gpus: boolean): IColumn[] {
  const memory = (f: IRankMetrics): number | null =>
    gpus ? f.rank.device_memory_bytes : f.rank.memory_bytes;
  const busyShare = (f: IRankMetrics): number | null =>
    gpus ? f.rank.device_utilization : f.rank.cpu_utilization;
  return [
    {
      key: 'samples',
      head: trans.__('Samples/s'),
      value: f => f.rank.samples_per_s,
      show: f => formatRate(f.rank.samples_per_s),
      number: true,
      ofSteps: true,
      width: 'minmax(86px, 0.9fr)',
      minWidth: 'wide'
    },
    {
      key: 'memory',
      head: gpus ? trans.__('GPU memory GiB') : trans.__('Memory GiB'),
      value: memory,
      show: f => memoryText(f.rank, gpus),
      number: true,
      width: 'minmax(124px, 1fr)',
      minWidth: 'little'
    },
    {
      key: 'use',
      head: gpus ? trans.__('GPU use') : trans.__('CPU use'),
      value: busyShare,
      show: f => formatShare(busyShare(f)),
      number: true,
      width: 'minmax(72px, 0.6fr)',
      minWidth: 'wide'
    },
    {
      key: 'seen',
      head: trans.__('Seen'),
      value: f => f.rank.last_seen_s,
      show: f =>
        f.rank.last_seen_s === null
          ? UNKNOWN
          : trans.__('%1 s', fine.format(f.rank.last_seen_s)),
      number: true,
      width: '64px',
      minWidth: 'wide'
    }
  ];
}

/** "71.0 / 80": amber from 92 %, red from 98 %. */
function memoryText(rank: Rank, gpus: boolean): React.ReactNode {
  const { device_memory_bytes: used, device_memory_total_bytes: total } = rank;
  if (!gpus) {
    return formatGiB(rank.memory_bytes);
  }
  if (used === null || !total) {
    return formatGiB(used);
  }
  const share = used / total;
  const full = share >= 0.98 ? 'most' : share >= 0.92 ? 'much' : undefined;
  return (
    <span data-full={full}>
      {formatGiB(used)} / {plain.format(total / 2 ** 30)}
    </span>
  );
}
