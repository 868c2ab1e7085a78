import { TranslationBundle } from '@jupyterlab/translation';
import React, { useState } from 'react';

import { Rank, Verdict } from '../../tokens';
import {
  formatGiB,
  formatSpan,
  formatTime,
  NBSP,
  UNKNOWN
} from '../../metrics/format';
import { Glyph } from '../../ui/icons/glyph';
import { useViewState } from '../../ui/viewState';
import { moveFocus } from '../../ui/rovingFocus';
import { isSplitVague, shownSplit, splitOf } from '../../metrics/split';
import { vagueText } from '../../metrics/share';
import { SplitBar } from '../../ui/charts/splitBar';
import { alarmOf } from '../../verdicts/verdict';
import { doing, hangPositionText } from '../model/rankFacts';
import { Facts } from './facts';
import { IRowsProps } from './slowest';
import { rankGlyph, rankWord } from '../model/texts';

/** Keys of a tree: true opens a row, false closes it, and null does the one that it is not. */
const OPENS: Readonly<Record<string, boolean | null>> = {
  ArrowRight: true,
  ArrowLeft: false,
  Enter: null,
  ' ': null
};

/** One row per rank. */
export function RankGrid(
  props: IRowsProps & { ranks: readonly Rank[]; headless?: boolean }
): JSX.Element {
  const { cluster, trans, ranks } = props;
  const [active, setActive] = useState(0);
  const [open, setOpen] = useViewState<number | null>(
    `open rank ${cluster.id}`,
    null
  );
  const trains = ranks.some(r => splitOf(r) !== null);
  const alarm = alarmOf(cluster.metrics);
  const gpus = ranks.some(r => r.device.startsWith('cuda'));
  const at = Math.min(active, ranks.length - 1);

  const move = (event: React.KeyboardEvent<HTMLElement>): void => {
    const rows = [
      ...event.currentTarget.querySelectorAll<HTMLElement>('[data-rank]')
    ];
    const row = event.target as HTMLElement;
    const rank = Number(row.dataset.rank);
    if (moveFocus(event, rows)) {
      event.stopPropagation();
    } else if (rows.includes(row) && event.key in OPENS) {
      event.preventDefault();
      if ((OPENS[event.key] ?? open !== rank) !== (open === rank)) {
        toggle(rank);
      }
    }
  };
  const toggle = (rank: number): void => {
    setOpen(open === rank ? null : rank);
    props.onSelect(rank);
  };

  return (
    <table
      className="jp-DtrainRanks-rows"
      role="treegrid"
      aria-label={trans.__('Ranks of %1', cluster.name)}
      onKeyDown={move}
    >
      <thead hidden={props.headless}>
        <tr>
          <th scope="col" className="jp-DtrainRanks-colGlyph">
            <span className="jp-DtrainUi-hidden">{trans.__('State')}</span>
          </th>
          <th scope="col" className="jp-DtrainRanks-colRank">
            {trans.__('Rank')}
          </th>
          {alarm ? (
            <>
              <th scope="col" className="jp-DtrainRanks-colFor">
                {trans.__('For')}
              </th>
              <th scope="col">{trans.__('Where')}</th>
            </>
          ) : trains ? (
            <>
              <th
                scope="col"
                className="jp-DtrainUi-colNumber"
                title={trans.__('A step without its communication')}
              >
                {trans.__('Own')}
              </th>
              <th scope="col">{trans.__('Step split')}</th>
            </>
          ) : (
            <th scope="col" colSpan={2}>
              {trans.__('Doing')}
            </th>
          )}
          <th
            scope="col"
            className="jp-DtrainUi-colNumber jp-DtrainRanks-colLast"
          >
            {gpus ? trans.__('GPU GiB') : trans.__('GiB')}
          </th>
        </tr>
      </thead>
      <tbody>
        {ranks.map((rank, index) => (
          <React.Fragment key={rank.rank}>
            <tr
              data-rank={rank.rank}
              data-state={rank.state}
              data-slow={rankGlyph(rank) === 'slow' || undefined}
              tabIndex={index === at ? 0 : -1}
              aria-level={1}
              aria-expanded={open === rank.rank}
              aria-selected={props.selected === rank.rank}
              onContextMenu={event => props.onMenu(event, [rank.rank])}
              onFocus={() => setActive(index)}
              onClick={() => toggle(rank.rank)}
            >
              <td>
                <Glyph kind={rankGlyph(rank)} label={rankWord(rank, trans)} />
              </td>
              <th scope="row">{rank.rank}</th>
              <Middle rank={rank} split={trains} alarm={alarm} trans={trans} />
              <td className="jp-DtrainUi-colNumber jp-DtrainRanks-colLast">
                {formatGiB(rank.device_memory_bytes ?? rank.memory_bytes)}
              </td>
            </tr>
            {open === rank.rank && (
              <tr className="jp-DtrainRanks-facts" aria-level={2}>
                <td colSpan={5}>
                  <Facts rank={rank} trans={trans} />
                </td>
              </tr>
            )}
          </React.Fragment>
        ))}
      </tbody>
    </table>
  );
}

/** For how long a rank has been in a problem, s; null if it isn't, as those that idle while one does not answer. */
export function stuckFor(
  { rank }: Pick<Rank, 'rank'>,
  { ranks, peers, since_s }: Verdict
): number | null {
  return [...ranks, ...peers].includes(rank) ? since_s : null;
}

/** Short text for the column: 14 s, 3 min, 2 h. */
export function stuckText(seconds: number | null): string {
  if (seconds === null) {
    return UNKNOWN;
  }
  const [first, unit] = formatSpan(seconds).split(/\s/);
  return `${first}${NBSP}${unit}`;
}

function Middle(props: {
  rank: Rank;
  split: boolean;
  alarm: Verdict | null;
  trans: TranslationBundle;
}): JSX.Element {
  const { rank, alarm, trans } = props;
  if (alarm) {
    const where = hangPositionText(rank, alarm, trans, true);
    const long = stuckText(stuckFor(rank, alarm));
    return (
      <>
        <td className="jp-DtrainRanks-colFor">{long}</td>
        <td
          className="jp-DtrainRanks-doing"
          title={hangPositionText(rank, alarm, trans)}
        >
          {where}
        </td>
      </>
    );
  }
  if (props.split && isSplitVague(rank)) {
    // the metrics above say it once, for all ranks, and the facts of this rank
    const told = vagueText(trans);
    return (
      <>
        <td className="jp-DtrainUi-colNumber" title={told}>
          {UNKNOWN}
        </td>
        <td title={told} />
      </>
    );
  }
  const split = props.split ? shownSplit(rank) : null;
  if (split && rank.step_s) {
    return (
      <>
        <td className="jp-DtrainUi-colNumber">
          {formatTime(rank.step_s * (1 - split.transfer - split.waiting))}
        </td>
        <td>
          <SplitBar split={split} trans={trans} />
        </td>
      </>
    );
  }
  return (
    <td colSpan={2} className="jp-DtrainRanks-doing" title={doing(rank, trans)}>
      {doing(rank, trans)}
    </td>
  );
}
