import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { CommandIDs } from '../commands';
import { Cluster, IPoint, Verdict } from '../tokens';
import {
  formatRanks,
  formatRate,
  formatShare,
  formatSpan,
  formatTime
} from '../ui/format';
import { Glyph, GlyphKind } from '../ui/glyph';
import { clusterGlyph, isTrouble, sentence, stateWord } from '../ui/sentence';
import { SPARK, Sparkline } from '../ui/sparkline';
import { meanSplit, SplitBar } from '../ui/split';
import { AdviceLine } from '../ui/advice';
import { alarmOf } from '../ui/verdict';

interface ICardProps {
  cluster: Cluster;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

/** How a cluster stands: sentence, what to do, progress or figures. */
export function ClusterCard(
  props: ICardProps & { history: readonly IPoint[]; now: number }
): JSX.Element {
  const { cluster, history, trans } = props;
  return (
    <div
      className="jp-Dtrain-card"
      data-trouble={isTrouble(cluster) || undefined}
    >
      <ClusterHead {...props} />
      {isStarting(cluster) ? (
        <Progress cluster={cluster} trans={trans} />
      ) : (
        <Figures cluster={cluster} history={history} trans={trans} />
      )}
    </div>
  );
}

/** The sentence, why, and what can be done. */
export function ClusterHead(props: ICardProps & { now: number }): JSX.Element {
  const { cluster, trans } = props;
  const verdict = cluster.metrics.verdicts[0];
  const trouble = isTrouble(cluster);
  return (
    <>
      <div className="jp-Dtrain-sentence">
        <Glyph
          kind={sentenceGlyph(cluster)}
          label={stateWord(cluster.state, trans)}
        />
        <p role={trouble ? 'alert' : 'status'}>{sentence(cluster, trans)}</p>
      </div>
      <Under {...props} />
      {verdict &&
        (verdict.peers.length > 0 && verdict.operation ? (
          <VerdictFacts verdict={verdict} trans={trans} />
        ) : (
          <p className="jp-Dtrain-reason">{verdict.hint}</p>
        ))}
      {!verdict && cluster.reason && (
        <div className="jp-Dtrain-reason">
          <p>{cluster.reason.message}</p>
          <p>{cluster.reason.hint}</p>
          <Waiting reason={cluster.reason} trans={trans} />
          {cluster.reason.host && (
            <button
              type="button"
              className="jp-Dtrain-button"
              onClick={() =>
                void props.commands.execute(CommandIDs.signIn, {
                  host: cluster.reason?.host ?? ''
                })
              }
            >
              {trans.__('Sign in …')}
            </button>
          )}
        </div>
      )}
      <Actions {...props} />
    </>
  );
}

/** What the scheduler says about when it may start. */
function Waiting(props: {
  reason: NonNullable<Cluster['reason']>;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { ahead, expected_start_at: expected } = props.reason;
  const { trans } = props;
  const parts: string[] = [];
  if (ahead !== null && ahead > 0) {
    parts.push(trans._n('%1 job is ahead.', '%1 jobs are ahead.', ahead));
  }
  if (expected !== null) {
    const when = new Date(expected * 1000).toLocaleTimeString([], {
      hour: '2-digit',
      minute: '2-digit'
    });
    parts.push(trans.__('It may start at %1.', when));
  }
  return parts.length ? <p>{parts.join(' ')}</p> : null;
}

function sentenceGlyph(cluster: Cluster): GlyphKind {
  const kind = clusterGlyph(cluster);
  return kind === 'busy' ? 'good' : kind;
}

function isStarting(cluster: Cluster): boolean {
  return ['pending', 'starting', 'connecting'].includes(cluster.state);
}

function Under(props: ICardProps & { now: number }): JSX.Element | null {
  const { cluster, trans } = props;
  const running = cluster.running[0];
  const parts: string[] = [];
  if (running) {
    const since = formatSpan(props.now / 1000 - running.started_at);
    if (running.notebook) {
      parts.push(running.notebook.split('/').pop() ?? '');
    }
    parts.push(trans.__('cell %1, running for %2', running.cell, since));
  } else if (cluster.notebooks.length) {
    parts.push(cluster.notebooks.map(n => n.split('/').pop()).join(', '));
  }
  if (cluster.ends_at !== null) {
    const left = cluster.ends_at - props.now / 1000;
    parts.push(
      cluster.ends_at === cluster.limit_at
        ? trans.__('its allocation ends in %1', formatSpan(left))
        : trans.__('ends in %1 without a cell', formatSpan(left))
    );
  }
  return parts.length ? (
    <p className="jp-Dtrain-under">{parts.join(' · ')}</p>
  ) : null;
}

function VerdictFacts(props: {
  verdict: Verdict;
  trans: TranslationBundle;
}): JSX.Element {
  const { verdict, trans } = props;
  const { where } = verdict;
  const place = where?.line
    ? where.cell
      ? trans.__('cell %1, line %2', where.cell, where.line)
      : `${where.file}:${where.line}`
    : trans.__('not known yet');
  const inside =
    verdict.sequence === null
      ? trans.__('in %1', verdict.operation)
      : trans.__('in %1, call %2', verdict.operation, verdict.sequence);
  return (
    <>
      <p className="jp-Dtrain-reason">{verdict.hint}</p>
      <dl className="jp-Dtrain-facts">
        {verdict.ranks.length > 0 && (
          <>
            <dt>
              {verdict.ranks.length === 1
                ? trans.__('Rank %1', verdict.ranks[0])
                : trans.__('Ranks %1', formatRanks(verdict.ranks))}
            </dt>
            <dd>{place}</dd>
          </>
        )}
        <dt>
          {verdict.peers.length === 1
            ? trans.__('Rank %1', verdict.peers[0])
            : trans.__('Ranks %1', formatRanks(verdict.peers))}
        </dt>
        <dd>{inside}</dd>
        <dt>{trans.__('Since')}</dt>
        <dd>{formatSpan(verdict.since_s ?? 0)}</dd>
      </dl>
    </>
  );
}

function Actions(props: ICardProps): JSX.Element | null {
  const { cluster, commands, trans } = props;
  const may = new Set(cluster.may);
  const stuck = alarmOf(cluster.metrics);
  const lost = cluster.ranks.filter(r => r.state === 'lost').map(r => r.rank);
  const run = (command: string, args: object = {}): void => {
    void commands.execute(command, { id: cluster.id, ...args });
  };
  const buttons: JSX.Element[] = [];
  if (may.has('interrupt')) {
    buttons.push(
      <button
        key="interrupt"
        type="button"
        className={`jp-Dtrain-button ${stuck ? 'jp-mod-primary' : ''}`}
        onClick={() => run(CommandIDs.interruptRanks)}
      >
        {stuck ? trans.__('Interrupt, keep variables') : trans.__('Interrupt')}
      </button>
    );
  }
  if (lost.length && may.has('restart')) {
    buttons.push(
      <button
        key="restart"
        type="button"
        className="jp-Dtrain-button jp-mod-primary"
        onClick={() => run(CommandIDs.restartRanks, { ranks: lost })}
      >
        {lost.length === 1
          ? trans.__('Restart rank %1', lost[0])
          : trans.__('Restart ranks %1', formatRanks(lost))}
      </button>
    );
  } else if (stuck?.ranks.length && may.has('restart')) {
    buttons.push(
      <button
        key="restart"
        type="button"
        className="jp-Dtrain-button"
        onClick={() =>
          run(CommandIDs.restartRanks, { ranks: stuck.ranks, ask: true })
        }
      >
        {stuck.ranks.length === 1
          ? trans.__('Restart rank %1…', stuck.ranks[0])
          : trans.__('Restart ranks %1…', formatRanks(stuck.ranks))}
      </button>
    );
  }
  if (stuck && may.has('stacks')) {
    buttons.push(
      <button
        key="stacks"
        type="button"
        className="jp-Dtrain-button"
        onClick={() => run(CommandIDs.showStacks)}
      >
        {trans.__('Stacks')}
      </button>
    );
  }
  if (
    stuck?.ranks.length &&
    cluster.running.length > 0 &&
    cluster.notebooks.length > 0 &&
    commands.hasCommand(CommandIDs.debugRank)
  ) {
    buttons.push(
      <button
        key="debug"
        type="button"
        className="jp-Dtrain-button"
        onClick={() =>
          run(CommandIDs.debugRank, { rank: stuck.ranks[0], pause: true })
        }
      >
        {trans.__('Debug rank %1', stuck.ranks[0])}
      </button>
    );
  }
  if (isStarting(cluster) && may.has('stop')) {
    buttons.push(
      <button
        key="cancel"
        type="button"
        className="jp-Dtrain-button"
        onClick={() => run(CommandIDs.stopCluster, { ask: false })}
      >
        {trans.__('Cancel')}
      </button>
    );
  }
  if (may.has('remove')) {
    buttons.push(
      <button
        key="report"
        type="button"
        className="jp-Dtrain-button"
        onClick={() => run(CommandIDs.copyReport)}
      >
        {trans.__('Copy report')}
      </button>,
      <button
        key="remove"
        type="button"
        className="jp-Dtrain-button"
        onClick={() => run(CommandIDs.stopCluster, { ask: false })}
      >
        {trans.__('Remove')}
      </button>
    );
  }
  return buttons.length ? (
    <div className="jp-Dtrain-actions">{buttons}</div>
  ) : null;
}

function Progress(props: {
  cluster: Cluster;
  trans: TranslationBundle;
}): JSX.Element {
  const { cluster, trans } = props;
  const known = new Map(cluster.progress.map(p => [p.phase, p]));
  const names: Record<string, string> = {
    ...(known.has('queue') ? { queue: trans.__('Wait for nodes') } : {}),
    load: trans.__('Load PyTorch'),
    fork: trans.__('Start ranks'),
    connect: trans.__('Connect the ranks')
  };
  return (
    <ol className="jp-Dtrain-phases" aria-label={trans.__('Progress')}>
      {Object.entries(names).map(([phase, name]) => {
        const entry = known.get(phase);
        const done = !!entry && entry.done >= entry.total;
        const kind = done ? 'good' : entry ? 'starting' : 'todo';
        return (
          <li key={phase} data-done={done || undefined}>
            <Glyph
              kind={kind}
              label={done ? trans.__('done') : trans.__('not done')}
            />
            <span>{name}</span>
            <span className="jp-Dtrain-under">
              {entry && entry.total > 1
                ? trans.__('%1 of %2', entry.done, entry.total)
                : ''}
            </span>
            <span className="jp-Dtrain-colNumber">
              {entry ? formatTime(entry.elapsed_s) : ''}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

function Figures(props: {
  cluster: Cluster;
  history: readonly IPoint[];
  trans: TranslationBundle;
}): JSX.Element | null {
  const { cluster, history, trans } = props;
  const { metrics } = cluster;
  const split = meanSplit(cluster.ranks);
  const recent = history.slice(-SPARK);
  const known = recent.some(p => p.samples !== null || p.overhead !== null);
  if (!known && metrics.step_s === null) {
    return null;
  }
  const error = metrics.comm_overhead_error;
  return (
    <div className="jp-Dtrain-figures">
      <div className="jp-Dtrain-figure">
        <span className="jp-Dtrain-name">{trans.__('Throughput')}</span>
        <span>
          <b data-figure="throughput">{formatRate(metrics.samples_per_s)}</b>{' '}
          {trans.__('samples/s')}
        </span>
        <Sparkline
          values={recent.map(p => p.samples)}
          label={trans.__('Throughput of the last minutes')}
        />
      </div>
      {split && (
        <div className="jp-Dtrain-figure">
          <span className="jp-Dtrain-name">{trans.__('Step')}</span>
          <span>
            <b>{formatTime(metrics.step_s)}</b> {trans.__('of which')}
          </span>
          <SplitBar split={split} trans={trans} />
          <span className="jp-Dtrain-legend">
            <span data-part="own">
              {trans.__('compute %1', formatShare(split.own))}
            </span>
            <span data-part="transfer">
              {trans.__('transfer %1', formatShare(split.transfer))}
            </span>
            <span data-part="waiting">
              {trans.__('waiting %1', formatShare(split.waiting))}
            </span>
          </span>
        </div>
      )}
      <div className="jp-Dtrain-figure">
        <span className="jp-Dtrain-name">{trans.__('Communication')}</span>
        <span>
          <b data-figure="overhead">{formatShare(metrics.comm_overhead)}</b>{' '}
          {error
            ? trans.__('± %1 of the step, estimated', Math.round(error * 100))
            : trans.__('of the step')}
        </span>
        <Sparkline
          values={recent.map(p => p.overhead)}
          label={trans.__('Communication of the last minutes')}
        />
      </div>
      <AdviceLine metrics={metrics} trans={trans} />
    </div>
  );
}
