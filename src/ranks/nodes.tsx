import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Node } from '../tokens';
import { formatMegabytes, formatShare, formatTime } from '../ui/format';
import { stateWord } from '../ui/sentence';
import { IRankFigures } from './figures';
import { tint } from './heat';

/** What a node does as a whole: its cores, its network, and whether it is slowed down. */
function NodeFacts(props: {
  node: Node | undefined;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { node, trans } = props;
  if (!node || node.cpu_utilization === null) {
    return null;
  }
  const parts = [
    trans.__('CPU %1', formatShare(node.cpu_utilization)),
    trans.__(
      '↑ %1 ↓ %2 MB/s',
      formatMegabytes(node.sent_bytes_per_s),
      formatMegabytes(node.received_bytes_per_s)
    )
  ];
  if (node.throttled) {
    parts.push(trans.__('slowed down: %1', node.throttled));
  }
  return <span className="jp-Dtrain-under">{parts.join(' · ')}</span>;
}

/** Now, by node and device: a square a rank. One tab stop; arrows move. */
export function NodeGrid(props: {
  figures: readonly IRankFigures[];
  nodes: readonly Node[];
  selected: number | null;
  onSelect: (rank: number) => void;
  onMenu: (
    event: React.MouseEvent<HTMLElement>,
    ranks: readonly number[]
  ) => void;
  trans: TranslationBundle;
}): JSX.Element {
  const { figures, selected, trans } = props;
  const nodes = new Map<string, IRankFigures[]>();
  for (const f of figures) {
    nodes.set(f.rank.node, [...(nodes.get(f.rank.node) ?? []), f]);
  }
  const first = figures[0]?.rank.rank ?? null;
  const stop = figures.some(f => f.rank.rank === selected) ? selected : first;
  const move = (event: React.KeyboardEvent<HTMLElement>): void => {
    const squares = [
      ...event.currentTarget.querySelectorAll<HTMLElement>('[data-square]')
    ];
    const from = squares.indexOf(event.target as HTMLElement);
    const to = {
      ArrowRight: from + 1,
      ArrowLeft: from - 1,
      Home: 0,
      End: squares.length - 1
    }[event.key];
    if (to !== undefined && squares[to]) {
      event.preventDefault();
      squares[to].focus();
    }
  };
  return (
    <div
      className="jp-Dtrain-nodeGrid"
      role="group"
      aria-label={trans.__('Ranks by node')}
      onKeyDown={move}
    >
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
          <span>
            {node}{' '}
            <NodeFacts
              node={props.nodes.find(n => n.name === node)}
              trans={trans}
            />
          </span>
          <span className="jp-Dtrain-squares">
            {ranks.map(f => {
              const [name, share] = tint(f.over ?? NaN);
              const percent = `${Math.round(share * 70)}%`;
              return (
                <button
                  key={f.rank.rank}
                  type="button"
                  data-square
                  data-state={f.rank.state}
                  aria-pressed={f.rank.rank === selected}
                  aria-label={trans.__(
                    'Rank %1, %2, own time %3',
                    f.rank.rank,
                    stateWord(f.rank.state, trans),
                    formatTime(f.own)
                  )}
                  tabIndex={f.rank.rank === stop ? 0 : -1}
                  style={{
                    background: `color-mix(in srgb, var(${name}) ${percent}, var(--jp-layout-color2))`
                  }}
                  onClick={() => props.onSelect(f.rank.rank)}
                  onContextMenu={event => props.onMenu(event, [f.rank.rank])}
                >
                  {f.rank.rank}
                </button>
              );
            })}
          </span>
        </div>
      ))}
    </div>
  );
}
