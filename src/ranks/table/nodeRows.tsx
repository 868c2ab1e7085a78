import React, { useState } from 'react';

import { Rank } from '../../tokens';
import { formatTime } from '../../metrics/format';
import { useViewState } from '../../ui/viewState';
import { ownTimes, shownNow } from '../../metrics/ownTime';
import { tintOf } from '../charts/heatMap';
import { moveInGrid } from './gridKeys';
import { RankGrid } from './rankGrid';
import { IRowsProps } from './slowest';
import { rankGlyph, rankWord } from '../model/texts';

/**
 * One row per node, with one square per rank and the time of the node's slowest rank.
 *
 * One tab stop and the keys of a grid: up and down between nodes, left and right in a node, Home and End; Enter
 * opens a node, or selects a rank.
 */
export function NodeRows(props: IRowsProps): JSX.Element {
  const { cluster, trans } = props;
  const [open, setOpen] = useViewState<string | null>(
    `open node ${cluster.id}`,
    null
  );
  const [stop, setStop] = useState<string>('');
  const { own, middle } = ownTimes(cluster.ranks);
  const nodes = ranksByNode(cluster.ranks);
  const first = nodes.keys().next().value as string;
  const at = stop || `node ${first}`;
  const most = Math.max(...[...nodes.values()].map(r => r.length));
  const move = (event: React.KeyboardEvent<HTMLElement>): void => {
    const cell = event.target as HTMLElement;
    const rows = new Map<string, HTMLElement[]>();
    for (const each of event.currentTarget.querySelectorAll<HTMLElement>(
      '[data-in]'
    )) {
      const row = each.dataset.in ?? '';
      rows.set(row, [...(rows.get(row) ?? []), each]);
    }
    const isOurs = cell.dataset.in !== undefined;
    if (isOurs && (event.key === 'Enter' || event.key === ' ')) {
      event.preventDefault();
      cell.click();
    } else {
      moveInGrid(event, [...rows.values()]);
    }
  };
  return (
    <div className="jp-DtrainRanks-nodes">
      <p className="jp-DtrainRanks-caption" aria-hidden="true">
        <span>{trans.__('By node, each square a rank')}</span>
        {middle !== null && <span>{trans.__('slowest')}</span>}
      </p>
      <div
        role="grid"
        aria-label={trans.__('Ranks of %1 by node', cluster.name)}
        onKeyDown={move}
      >
        {[...nodes].map(([name, ranks]) => (
          <React.Fragment key={name}>
            <NodeRow
              {...props}
              name={name}
              ranks={ranks}
              most={most}
              open={open === name}
              toggle={() => setOpen(open === name ? null : name)}
              at={at}
              setStop={setStop}
              own={own}
              middle={middle}
            />
            {open === name && (
              <div role="row">
                <div role="gridcell">
                  <RankGrid {...props} ranks={ranks} headless />
                </div>
              </div>
            )}
          </React.Fragment>
        ))}
      </div>
    </div>
  );
}

/** Ranks of each node, in order. */
function ranksByNode(ranks: readonly Rank[]): Map<string, Rank[]> {
  const nodes = new Map<string, Rank[]>();
  for (const rank of ranks) {
    const mine = nodes.get(rank.node);
    if (mine) {
      mine.push(rank);
    } else {
      nodes.set(rank.node, [rank]);
    }
  }
  return nodes;
}

/** A node: its name, a square per rank, and the time of its slowest rank. */
function NodeRow(
  props: IRowsProps & {
    name: string;
    ranks: readonly Rank[];
    /** Number of ranks of the largest node. */
    most: number;
    /** Whether its ranks are listed below. */
    open: boolean;
    toggle: () => void;
    /** The tab stop. */
    at: string;
    setStop: (stop: string) => void;
    /** Own time of each rank, s, and their median. */
    own: ReturnType<typeof ownTimes>['own'];
    middle: number | null;
  }
): JSX.Element {
  const { name, ranks, open, at, setStop, own, middle, trans } = props;
  const alive = ranks.filter(r => r.state !== 'lost').length;
  const slow = ranks.some(r => rankGlyph(r) === 'slow');
  const bad = ranks.some(r => r.state === 'lost' || r.state === 'stuck');
  const slowest = Math.max(
    ...ranks.map(r => own[r.rank]).filter(t => !Number.isNaN(t)),
    -1
  );
  return (
    <div
      role="row"
      className="jp-DtrainRanks-node"
      data-slow={slow || undefined}
      data-attention={bad || undefined}
      onContextMenu={event =>
        props.onMenu(
          event,
          ranks.map(r => r.rank)
        )
      }
    >
      <span
        role="rowheader"
        className="jp-DtrainRanks-nodeName"
        title={name}
        data-in={name}
        aria-expanded={open}
        tabIndex={at === `node ${name}` ? 0 : -1}
        onFocus={() => setStop(`node ${name}`)}
        onClick={props.toggle}
      >
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d={open ? 'M4 6l4 4 4-4' : 'M6 4l4 4-4 4'} />
        </svg>
        <span>{name}</span>
      </span>
      <span
        className="jp-DtrainRanks-squares"
        style={{ '--most': props.most } as React.CSSProperties}
        role="presentation"
      >
        {ranks.map(rank => (
          <Square
            key={rank.rank}
            rank={rank.rank}
            node={name}
            label={trans.__('rank %1: %2', rank.rank, rankWord(rank, trans))}
            state={rank.state}
            tint={
              middle
                ? tintOf(shownNow(own[rank.rank] / middle - 1, rank))
                : undefined
            }
            selected={rank.rank === props.selected}
            stop={at === `rank ${rank.rank}`}
            onFocus={setStop}
            onSelect={props.onSelect}
          />
        ))}
      </span>
      <span
        role="gridcell"
        className="jp-DtrainRanks-nodeCount"
        data-in={name}
        tabIndex={at === `time ${name}` ? 0 : -1}
        onFocus={() => setStop(`time ${name}`)}
      >
        {alive === ranks.length && slowest >= 0
          ? formatTime(slowest)
          : trans.__('%1 of %2', alive, ranks.length)}
      </span>
    </div>
  );
}

/** A rank in the row of its node. */
function AnySquare(props: {
  rank: number;
  /** Name of its node. */
  node: string;
  label: string;
  state: Rank['state'];
  tint: string | undefined;
  selected: boolean;
  stop: boolean;
  onFocus: (stop: string) => void;
  onSelect: (rank: number) => void;
}): JSX.Element {
  const { rank, label, state, tint } = props;
  return (
    <span
      role="gridcell"
      data-square={rank}
      data-in={props.node}
      data-state={state}
      data-known={tint !== undefined || undefined}
      aria-label={label}
      aria-selected={props.selected}
      title={label}
      tabIndex={props.stop ? 0 : -1}
      style={tint === undefined ? undefined : { background: tint }}
      onFocus={() => props.onFocus(`rank ${rank}`)}
      onClick={() => props.onSelect(rank)}
    />
  );
}

/** Redrawn only if it differs. */
const Square = React.memo(
  AnySquare,
  (a, b) =>
    a.label === b.label &&
    a.tint === b.tint &&
    a.selected === b.selected &&
    a.stop === b.stop &&
    a.node === b.node
);
