import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Cluster, Rank } from '../../tokens';
import {
  formatCount,
  formatSpan,
  formatTime,
  unbroken
} from '../../metrics/format';
import { Glyph } from '../../ui/icons/glyph';

/** Maximum number of nodes that are named if ranks are missing. */
const MOST_LATE = 4;

/** Largest part of the bar that time fills: a late start is not a complete one. */
const MOST_BY_TIME = 0.95;

/** Whether its process has started; it counts as starting until all ranks are connected. */
export function isThere(rank: Rank): boolean {
  return rank.state !== 'starting' || rank.pid !== null;
}

/** Elapsed and usual time of the start, as text and as a bar. */
export function StartBar(props: {
  cluster: Cluster;
  trans: TranslationBundle;
  /** Current time, ms. */
  now: number;
}): JSX.Element {
  const { cluster, trans, now } = props;
  const usual = cluster.usual_start_s;
  const so = Math.max(0, now / 1000 - cluster.created_at);
  return (
    <div className="jp-DtrainCluster-startBar">
      <p className="jp-DtrainUi-under">
        {usual === null
          ? trans.__('%1 so far', formatSpan(so))
          : unbroken(
              trans.__(
                '%1 so far; a start usually takes %2',
                formatSpan(so),
                soon(usual)
              )
            )}
      </p>
      {usual === null ? (
        <Bar
          share={startedShare(cluster)}
          label={trans.__('Ranks that have started')}
        />
      ) : (
        // as the sentence says: until PyTorch is loaded, no rank has started
        <Bar
          share={Math.min(MOST_BY_TIME, so / usual)}
          label={trans.__('Time of a usual start')}
        />
      )}
    </div>
  );
}

/** Share of its ranks whose processes have started. */
function startedShare({ ranks }: Cluster): number {
  return ranks.length ? ranks.filter(isThere).length / ranks.length : 0;
}

/** A usual time: "4 s", never "0 s". */
function soon(seconds: number): string {
  return seconds < 1 ? formatTime(seconds) : formatSpan(seconds);
}

function Bar(props: { share: number; label: string }): JSX.Element {
  return (
    <span
      className="jp-DtrainCluster-bar"
      role="progressbar"
      aria-label={props.label}
      aria-valuenow={Math.round(props.share * 100)}
    >
      <span style={{ width: `${props.share * 100}%` }} />
    </span>
  );
}

/** Progress of a start. */
export function Progress(props: {
  cluster: Cluster;
  trans: TranslationBundle;
}): JSX.Element {
  const { cluster, trans } = props;
  const progress = new Map(cluster.progress.map(p => [p.phase, p]));
  const names: Record<string, string> = {
    ...(progress.has('queue') ? { queue: trans.__('Wait for nodes') } : {}),
    load: trans.__('Load PyTorch'),
    fork: trans.__('Start ranks'),
    connect: trans.__('Connect the ranks')
  };
  return (
    <ol className="jp-DtrainCluster-phases" aria-label={trans.__('Progress')}>
      {Object.entries(names).map(([phase, name]) => {
        const entry = progress.get(phase);
        const done = !!entry && entry.done >= entry.total;
        const kind = done ? 'good' : entry ? 'starting' : 'todo';
        const counts = entry && !done && entry.total > 1;
        return (
          <li key={phase} data-done={done || undefined}>
            <Glyph
              kind={kind}
              label={done ? trans.__('done') : trans.__('not done')}
            />
            <span>
              {entry && !done ? <b>{name}</b> : name}
              {counts && (
                <span className="jp-DtrainUi-under">
                  {' '}
                  {trans.__(
                    '%1 of %2',
                    formatCount(entry.done),
                    formatCount(entry.total)
                  )}
                </span>
              )}
            </span>
            <span className="jp-DtrainUi-colNumber">
              {entry?.elapsed_s ? formatTime(entry.elapsed_s) : ''}
            </span>
            {phase === 'fork' && entry && !done && (
              <LateNodes cluster={cluster} trans={trans} />
            )}
            {phase !== 'fork' && !!entry?.late_nodes.length && (
              <p className="jp-DtrainCluster-late jp-DtrainUi-under">
                {trans.__('waits for %1', some(entry.late_nodes, trans))}
              </p>
            )}
          </li>
        );
      })}
    </ol>
  );
}

/** The first names of a list. */
function some(names: string[], trans: TranslationBundle): string {
  const shown = names.slice(0, MOST_LATE).join(', ');
  const more = names.length - MOST_LATE;
  return more > 0 ? trans.__('%1 and %2 more', shown, more) : shown;
}

/** Nodes with missing ranks, once the first node has all of its ranks. */
function LateNodes(props: {
  cluster: Cluster;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { trans } = props;
  const nodes = new Map<string, { there: number; total: number }>();
  for (const rank of props.cluster.ranks) {
    const { node } = rank;
    const count = nodes.get(node) ?? { there: 0, total: 0 };
    count.total += 1;
    count.there += isThere(rank) ? 1 : 0;
    nodes.set(node, count);
  }
  const late = [...nodes].filter(([, n]) => n.there < n.total);
  if (nodes.size < 2 || !late.length || late.length === nodes.size) {
    return null;
  }
  return (
    <div className="jp-DtrainCluster-late">
      <p className="jp-DtrainUi-under">
        {trans._n(
          '%2 of %1 node is ready',
          '%2 of %1 nodes are ready',
          nodes.size,
          nodes.size - late.length
        )}
      </p>
      {late.slice(0, MOST_LATE).map(([name, { there, total }]) => (
        <p key={name}>
          <span>{name}</span>
          <Bar share={there / total} label={name} />
          <span className="jp-DtrainUi-under">
            {trans.__('%1 of %2', there, total)}
          </span>
        </p>
      ))}
    </div>
  );
}
