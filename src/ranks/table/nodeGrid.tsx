import { TranslationBundle } from '@jupyterlab/translation';
import React, { useState } from 'react';

import { shownNow } from '../../metrics/ownTime';
import { formatTime } from '../../metrics/format';
import { Glyph } from '../../ui/icons/glyph';
import { GlyphKind } from '../../verdicts/glyphKind';
import { moveFocus } from '../../ui/rovingFocus';
import { IRankMetrics } from '../model/rankMetrics';
import { tintOf } from '../charts/heatMap';
import { IPicks } from '../model/picks';
import { rankGlyph, rankWord } from '../model/texts';

/** Maximum number of a node's devices per line. */
const MOST_COLUMNS = 8;

/** Current state by node and device, with one square per rank. One tab stop; arrow keys move. */
export function NodeGrid(
  props: IPicks & {
    rankMetrics: readonly IRankMetrics[];
    trans: TranslationBundle;
  }
): JSX.Element {
  const { rankMetrics, selected, trans } = props;
  const [stop, setStop] = useState<number | null>(null);
  const nodes = new Map<string, IRankMetrics[]>();
  for (const f of rankMetrics) {
    const mine = nodes.get(f.rank.node);
    if (mine) {
      mine.push(f);
    } else {
      nodes.set(f.rank.node, [f]);
    }
  }
  const most = Math.max(1, ...[...nodes.values()].map(r => r.length));
  const columns = Math.min(MOST_COLUMNS, most);
  const shown = new Set(rankMetrics.map(f => f.rank.rank));
  const at = [stop, selected].find(r => r !== null && shown.has(r));
  const first = at ?? rankMetrics[0]?.rank.rank;
  const move = (event: React.KeyboardEvent<HTMLElement>): void => {
    const squares =
      event.currentTarget.querySelectorAll<HTMLElement>('[data-square]');
    moveFocus(event, [...squares], columns);
  };
  return (
    <div
      className="jp-DtrainRanks-nodeGrid"
      role="group"
      aria-label={trans.__('Ranks by node')}
      style={{ '--most': columns } as React.CSSProperties}
      onKeyDown={move}
    >
      {nodes.size > 1 && (
        <div aria-hidden="true" className="jp-DtrainRanks-gridHead">
          <span />
          {Array.from({ length: columns }, (_, i) => (
            <span key={i}>{i}</span>
          ))}
        </div>
      )}
      {[...nodes].map(([node, ranks]) => (
        <div
          key={node}
          onContextMenu={event =>
            props.onMenu(
              event,
              ranks.map(f => f.rank.rank)
            )
          }
        >
          <span>{node}</span>
          <span className="jp-DtrainRanks-cells">
            {ranks.map(f => (
              <button
                key={f.rank.rank}
                type="button"
                data-square={f.rank.rank}
                data-state={f.rank.state}
                data-slow={rankGlyph(f.rank) === 'slow' || undefined}
                aria-pressed={f.rank.rank === selected}
                aria-label={trans.__(
                  'Rank %1, %2, own time %3',
                  f.rank.rank,
                  rankWord(f.rank, trans),
                  formatTime(f.own)
                )}
                tabIndex={f.rank.rank === first ? 0 : -1}
                style={{ background: tintOf(shownNow(f.over ?? NaN, f.rank)) }}
                onFocus={() => setStop(f.rank.rank)}
                onClick={() => props.onSelect(f.rank.rank)}
                onContextMenu={event => props.onMenu(event, [f.rank.rank])}
              >
                <span>{f.rank.rank}</span>
              </button>
            ))}
          </span>
        </div>
      ))}
      <Counts rankMetrics={rankMetrics} trans={trans} />
    </div>
  );
}

/** Number of ranks per state. */
function Counts(props: {
  rankMetrics: readonly IRankMetrics[];
  trans: TranslationBundle;
}): JSX.Element {
  const { trans } = props;
  const counts = new Map<GlyphKind, { count: number; word: string }>();
  for (const { rank } of props.rankMetrics) {
    const kind = rankGlyph(rank);
    const before = counts.get(kind);
    if (before) {
      before.count += 1;
    } else {
      const slow = kind === 'slow';
      const word = slow ? trans.__('slow') : rankWord(rank, trans);
      counts.set(kind, { count: 1, word });
    }
  }
  const order: GlyphKind[] = ['lost', 'stuck', 'slow', 'busy', 'in collective'];
  const place = (kind: GlyphKind): number =>
    order.includes(kind) ? order.indexOf(kind) : order.length;
  return (
    <p className="jp-DtrainRanks-counts">
      {[...counts]
        .sort(([a], [b]) => place(a) - place(b))
        .map(([kind, { count, word }]) => (
          <span key={kind}>
            <Glyph kind={kind} label={word} /> {word} {count}
          </span>
        ))}
    </p>
  );
}
