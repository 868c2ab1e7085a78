import { TranslationBundle } from '@jupyterlab/translation';
import React, { useRef } from 'react';

import { Cluster } from '../../tokens';
import { formatShare, formatTime } from '../../metrics/format';
import { Glyph } from '../../ui/icons/glyph';
import { useSteadyOrder } from '../../ui/lists/steadyOrder';
import { ownTimes } from '../../metrics/ownTime';
import { RankMap } from '../charts/rankMap';
import { IPicks } from '../model/picks';
import { differs, markedFirst, rankGlyph, rankWord } from '../model/texts';

const SLOWEST = 5;

export interface IRowsProps extends IPicks {
  cluster: Cluster;
  trans: TranslationBundle;
}

/** View for too many ranks: a map of squares, and the slowest ranks. */
export function MapAndSlowest(props: IRowsProps): JSX.Element {
  const { cluster, trans } = props;
  const { ranks } = cluster;
  const { own, middle } = ownTimes(ranks);
  const bad = ranks.filter(r => r.state === 'stuck' || r.state === 'lost');
  const host = useRef<HTMLUListElement>(null);
  const marked = markedFirst(ranks.filter(differs))
    .slice(0, SLOWEST)
    .map(r => r.rank);
  const order = useSteadyOrder(
    () => ({
      keys: ranks
        .map(r => r.rank)
        .filter(rank => !Number.isNaN(own[rank]))
        .sort((a, b) => own[b] - own[a])
        .slice(0, SLOWEST),
      by: null
    }),
    `${cluster.id} ${cluster.world.generation}`,
    host
  );
  const shown = [...new Set([...marked, ...order])]
    .map(rank => ranks[rank])
    .filter(Boolean);
  return (
    <div className="jp-DtrainRanks-mapBox">
      <p className="jp-DtrainRanks-caption">
        <span>{trans.__('Own time, a square per rank')}</span>
        {middle !== null && (
          <span>{trans.__('median %1', formatTime(middle))}</span>
        )}
      </p>
      <RankMap
        ranks={ranks}
        middle={middle}
        columns={32}
        selected={props.selected}
        onSelect={props.onSelect}
        onMenu={props.onMenu}
        summary={trans._n(
          '%1 rank, problems on %2',
          '%1 ranks, problems on %2 of them',
          ranks.length,
          bad.length
        )}
        trans={trans}
      />
      <p className="jp-DtrainRanks-caption">{trans.__('Slowest')}</p>
      <ul ref={host} className="jp-DtrainRanks-slowest">
        {shown.map(rank => (
          <li
            key={rank.rank}
            data-slow={rankGlyph(rank) === 'slow' || undefined}
            data-selected={rank.rank === props.selected || undefined}
            onContextMenu={event => props.onMenu(event, [rank.rank])}
          >
            <Glyph kind={rankGlyph(rank)} label={rankWord(rank, trans)} />
            <button
              type="button"
              className="jp-DtrainUi-link"
              aria-pressed={rank.rank === props.selected}
              aria-label={trans.__('Rank %1', rank.rank)}
              onClick={() => props.onSelect(rank.rank)}
            >
              {rank.rank}
            </button>
            <span>{rank.node}</span>
            <span className="jp-DtrainUi-colNumber">
              {ownText(own[rank.rank], middle)}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** "471 ms +15 %". */
function ownText(own: number, middle: number | null): string {
  if (Number.isNaN(own)) {
    return formatTime(null);
  }
  const over = middle ? Math.round((own / middle - 1) * 100) : 0;
  return over >= 1
    ? `${formatTime(own)} +${formatShare(over / 100)}`
    : formatTime(own);
}
