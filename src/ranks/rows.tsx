import { TranslationBundle } from '@jupyterlab/translation';
import React, { useRef, useState } from 'react';

import { Cluster, Rank } from '../tokens';
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
import { SplitBar, splitOf } from '../ui/split';
import { alarmOf } from '../ui/verdict';
import { ownTimes } from './figures';
import { RankMap } from './map';

/** A row each up to here; above, a row a node with a square a rank. */
export const MOST_ROWS = 16;
/** Squares in rows of nodes up to here; above, a map of squares and the slowest. */
export const MOST_SQUARES = 128;
const SLOWEST = 5;

/** Ranks that differ come first: lost, stuck, then the rest in order. */
export function ordered(ranks: readonly Rank[]): Rank[] {
  const weight = (r: Rank): number =>
    r.state === 'lost' ? 0 : r.state === 'stuck' ? 1 : 2;
  return [...ranks].sort((a, b) => weight(a) - weight(b) || a.rank - b.rank);
}

interface IRowsProps {
  cluster: Cluster;
  /** The rank that all views show; null for none. */
  selected: number | null;
  onSelect: (rank: number) => void;
  /** A context menu was asked for on some ranks. */
  onMenu: (
    event: React.MouseEvent<HTMLElement>,
    ranks: readonly number[]
  ) => void;
  trans: TranslationBundle;
}

/** The ranks of a cluster in the sidebar. */
export function RankRows(props: IRowsProps): JSX.Element {
  const { length } = props.cluster.ranks;
  if (length > MOST_SQUARES) {
    return <MapAndSlowest {...props} />;
  }
  return length > MOST_ROWS ? <NodeRows {...props} /> : <Grid {...props} />;
}

function Grid(props: IRowsProps): JSX.Element {
  const { cluster, trans } = props;
  const [active, setActive] = useState(0);
  const [open, setOpen] = useState<number | null>(null);
  const ranks = ordered(cluster.ranks);
  const trains = ranks.some(r => splitOf(r) !== null);
  const stuck = alarmOf(cluster.metrics) !== null;
  const at = Math.min(active, ranks.length - 1);

  const move = (event: React.KeyboardEvent<HTMLElement>): void => {
    const rows = [
      ...event.currentTarget.querySelectorAll<HTMLElement>('[data-rank]')
    ];
    // the row that has the focus, whatever was drawn last
    const from = rows.indexOf(event.target as HTMLElement);
    const to = {
      ArrowDown: from + 1,
      ArrowUp: from - 1,
      Home: 0,
      End: rows.length - 1
    }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      rows[Math.max(0, Math.min(rows.length - 1, to))]?.focus();
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      toggle(Number(rows[from]?.dataset.rank));
    }
  };
  const toggle = (rank: number): void => {
    setOpen(open === rank ? null : rank);
    props.onSelect(rank);
  };

  return (
    <table
      className="jp-Dtrain-ranks"
      role="treegrid"
      aria-label={trans.__('Ranks of %1', cluster.name)}
      onKeyDown={move}
    >
      <thead>
        <tr>
          <th scope="col" className="jp-Dtrain-colGlyph">
            <span className="jp-Dtrain-hidden">{trans.__('State')}</span>
          </th>
          <th scope="col" className="jp-Dtrain-colRank">
            {trans.__('Rank')}
          </th>
          {trains && !stuck ? (
            <>
              <th scope="col" className="jp-Dtrain-colNumber">
                {trans.__('Own')}
              </th>
              <th scope="col">{trans.__('Split')}</th>
            </>
          ) : (
            <th scope="col" colSpan={2}>
              {stuck ? trans.__('Where') : trans.__('Doing')}
            </th>
          )}
          <th scope="col" className="jp-Dtrain-colNumber jp-Dtrain-colLast">
            {trans.__('GiB')}
          </th>
        </tr>
      </thead>
      <tbody>
        {ranks.map((rank, index) => (
          <React.Fragment key={rank.rank}>
            <tr
              data-rank={rank.rank}
              data-state={rank.state}
              tabIndex={index === at ? 0 : -1}
              aria-expanded={open === rank.rank}
              aria-selected={props.selected === rank.rank}
              onContextMenu={event => props.onMenu(event, [rank.rank])}
              onFocus={() => setActive(index)}
              onClick={() => toggle(rank.rank)}
            >
              <td>
                <Glyph kind={rank.state} label={stateWord(rank.state, trans)} />
              </td>
              <th scope="row">{rank.rank}</th>
              <Middle rank={rank} split={trains && !stuck} trans={trans} />
              <td className="jp-Dtrain-colNumber jp-Dtrain-colLast">
                {formatGiB(rank.device_memory_bytes ?? rank.memory_bytes)}
              </td>
            </tr>
            {open === rank.rank && (
              <tr className="jp-Dtrain-rankFacts">
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

function Middle(props: {
  rank: Rank;
  split: boolean;
  trans: TranslationBundle;
}): JSX.Element {
  const { rank, trans } = props;
  const split = props.split ? splitOf(rank) : null;
  if (split && rank.step_s) {
    return (
      <>
        <td className="jp-Dtrain-colNumber">
          {formatTime(rank.step_s * split.own)}
        </td>
        <td>
          <SplitBar split={split} trans={trans} />
        </td>
      </>
    );
  }
  return (
    <td colSpan={2} className="jp-Dtrain-doing">
      {doing(rank, trans)}
    </td>
  );
}

/** What a rank does, in a few words. */
export function doing(rank: Rank, trans: TranslationBundle): string {
  const { where } = rank;
  if (rank.state === 'stuck' && where?.line) {
    return where.cell
      ? trans.__('cell %1, line %2', where.cell, where.line)
      : `${where.file}:${where.line}`;
  }
  if (rank.state === 'busy' && !rank.doing && where?.cell) {
    return trans.__('cell %1', where.cell);
  }
  return rank.doing ?? stateWord(rank.state, trans);
}

function Facts(props: { rank: Rank; trans: TranslationBundle }): JSX.Element {
  const { rank, trans } = props;
  const unsure = rank.unsure ? ` (${trans.__('unsure')})` : '';
  const error = rank.comm_overhead_error;
  const overhead =
    rank.comm_overhead === null
      ? UNKNOWN
      : error
        ? `${formatShare(rank.comm_overhead)} ± ${Math.round(error * 100)}`
        : formatShare(rank.comm_overhead);
  const facts: [string, string][] = [
    [trans.__('State'), stateWord(rank.state, trans)],
    [trans.__('Doing'), doing(rank, trans)],
    [trans.__('Device'), `${rank.device}, ${rank.node}`],
    [trans.__('Step'), rank.step === null ? UNKNOWN : `${rank.step}${unsure}`],
    [trans.__('Steps/s'), formatRate(rank.steps_per_s)],
    [trans.__('Samples/s'), formatRate(rank.samples_per_s)],
    [trans.__('Data loading'), formatTime(rank.data_s)],
    [trans.__('Communication'), overhead],
    [trans.__('Waiting'), formatTime(rank.wait_s)],
    [trans.__('CPU'), formatShare(rank.cpu_utilization)],
    [trans.__('Memory'), `${formatGiB(rank.memory_bytes)} GiB`],
    [trans.__('Process'), rank.pid === null ? UNKNOWN : `${rank.pid}`]
  ];
  if (rank.device !== 'cpu') {
    facts.push([trans.__('GPU'), formatShare(rank.device_utilization)]);
  }
  return (
    <dl className="jp-Dtrain-facts">
      {facts.map(([name, value]) => (
        <React.Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </React.Fragment>
      ))}
    </dl>
  );
}

function MapAndSlowest(props: IRowsProps): JSX.Element {
  const { cluster, trans } = props;
  const { ranks } = cluster;
  const { own, middle } = ownTimes(ranks);
  const bad = ranks.filter(r => r.state === 'stuck' || r.state === 'lost');
  const host = useRef<HTMLUListElement>(null);
  const troubled = bad.slice(0, SLOWEST).map(r => r.rank);
  const order = useSteadyOrder(
    () =>
      ranks
        .map(r => r.rank)
        .filter(rank => !Number.isNaN(own[rank]))
        .sort((a, b) => own[b] - own[a])
        .slice(0, SLOWEST),
    `${cluster.id} ${cluster.world.generation}`,
    host
  );
  const shown = [...new Set([...troubled, ...order])].map(rank => ranks[rank]);
  return (
    <div className="jp-Dtrain-mapBox">
      <RankMap
        ranks={ranks}
        middle={middle}
        columns={32}
        selected={props.selected}
        onSelect={props.onSelect}
        summary={trans.__(
          '%1 ranks, %2 of them stuck or lost',
          ranks.length,
          bad.length
        )}
      />
      <p className="jp-Dtrain-under">{trans.__('Slowest')}</p>
      <ul ref={host} className="jp-Dtrain-slowest">
        {shown.map(({ rank, state, node }) => (
          <li
            key={rank}
            data-selected={rank === props.selected || undefined}
            onContextMenu={event => props.onMenu(event, [rank])}
          >
            <Glyph kind={state} label={stateWord(state, trans)} />
            <button
              type="button"
              className="jp-Dtrain-link"
              aria-pressed={rank === props.selected}
              aria-label={trans.__('Rank %1', rank)}
              onClick={() => props.onSelect(rank)}
            >
              {rank}
            </button>
            <span>{node}</span>
            <span className="jp-Dtrain-colNumber">
              {formatTime(Number.isNaN(own[rank]) ? null : own[rank])}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** A rank in the row of its node. */
function SquareOf(props: {
  rank: number;
  state: Rank['state'];
  selected: boolean;
  trans: TranslationBundle;
}): JSX.Element {
  const { rank, state, trans } = props;
  return (
    <span
      data-rank={rank}
      data-state={state}
      data-selected={props.selected || undefined}
      title={trans.__('rank %1: %2', rank, stateWord(state, trans))}
    />
  );
}

/** Drawn again only where it differs. */
const Square = React.memo(SquareOf);

function NodeRows(props: IRowsProps): JSX.Element {
  const { cluster, trans } = props;
  const nodes = new Map<string, Rank[]>();
  for (const rank of cluster.ranks) {
    nodes.set(rank.node, [...(nodes.get(rank.node) ?? []), rank]);
  }
  return (
    <ul className="jp-Dtrain-nodes">
      {[...nodes].map(([name, ranks]) => {
        const alive = ranks.filter(r => r.state !== 'lost').length;
        return (
          <li
            key={name}
            tabIndex={0}
            onContextMenu={event =>
              props.onMenu(
                event,
                ranks.map(r => r.rank)
              )
            }
          >
            <span className="jp-Dtrain-nodeName">{name}</span>
            <span
              className="jp-Dtrain-squares"
              role="img"
              aria-label={trans.__('%1 of %2 ranks', alive, ranks.length)}
              onClick={event => {
                const { rank } = (event.target as HTMLElement).dataset;
                if (rank !== undefined) {
                  props.onSelect(Number(rank));
                }
              }}
            >
              {ranks.map(r => (
                <Square
                  key={r.rank}
                  rank={r.rank}
                  state={r.state}
                  selected={r.rank === props.selected}
                  trans={trans}
                />
              ))}
            </span>
            <span className="jp-Dtrain-nodeCount">
              {trans.__('%1 of %2', alive, ranks.length)}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
