import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { ENDED } from '../../api/states';
import { CommandIDs } from '../../commands';
import {
  Cluster,
  IAdviceState,
  IKernelRecords,
  IPoint,
  Profile,
  Verdict
} from '../../tokens';
import { ShownAdvice } from '../advice/shownAdvice';
import { Action } from '../../ui/actionButton';
import {
  formatClock,
  formatSpan,
  listed,
  unbroken
} from '../../metrics/format';
import { Glyph } from '../../ui/icons/glyph';
import { GlyphKind } from '../../verdicts/glyphKind';
import { Headline } from '../../ui/headline';
import { killedText, wasKilled } from '../../verdicts/endings';
import { recovered } from '../../verdicts/recovered';
import {
  clusterGlyph,
  needsAttention,
  sentence,
  stateWord
} from '../../verdicts/sentence';
import { alarmOf } from '../../verdicts/verdict';
import { busyNote } from '../../verdicts/texts';
import { Actions } from './buttons';
import { ClusterMetrics } from './metrics';
import { LostFacts } from './lostRanks';
import { Alternatives, expected, PendingFacts } from './pending';
import { CellLink, WaitingCells } from './cellLink';
import { isStarting } from '../model/phases';
import { Progress, StartBar } from './startProgress';
import { Next } from './nextStep';
import { VerdictFacts } from './verdictFacts';

export interface ICardProps {
  cluster: Cluster;
  /** Verdict that was ignored in this browser; null for none. */
  ignored: Verdict | null;
  profiles: readonly Profile[];
  records: Pick<IKernelRecords, 'notebookName'>;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

/** State of a cluster: sentence, actions, progress or metrics. */
export function ClusterCard(
  props: ICardProps & {
    adviceState: IAdviceState;
    history: readonly IPoint[];
    now: number;
  }
): JSX.Element {
  const { cluster, history, trans } = props;
  const dead = ENDED.includes(cluster.state);
  return (
    <div
      className="jp-DtrainCluster-card"
      data-attention={alarmOf(cluster.metrics) ? true : undefined}
    >
      <ClusterHead {...props} />
      {!dead && !isStarting(cluster) && (
        <ClusterMetrics cluster={cluster} history={history} trans={trans} />
      )}
      <ShownAdvice {...props} />
    </div>
  );
}

/**
 * The sentence, its reason, and actions.
 *
 * `past`: the cluster has ended since without a word, so that this was so at `now`. `cut`: nobody knows what has become
 * of the cluster since `now`, because there is no connection to the server.
 */
export function ClusterHead(
  props: ICardProps & {
    now: number;
    past?: boolean;
    cut?: boolean;
    /** Commands that are not offered. */
    omits?: readonly string[];
  }
): JSX.Element {
  const { cluster, trans, past = false, cut = false } = props;
  const verdict = cluster.metrics.verdicts[0];
  const alert = needsAttention(cluster) && !past;
  const text = sentence(cluster, trans);
  return (
    <div className="jp-DtrainCluster-head">
      <div className="jp-DtrainCluster-words">
        <div className="jp-DtrainUi-sentence">
          <Glyph
            kind={cut ? 'off' : past ? 'stopped' : sentenceGlyph(props)}
            label={
              cut
                ? trans.__('no connection')
                : past
                  ? trans.__('ended')
                  : stateWord(cluster.state, trans)
            }
          />
          <Headline
            text={
              past
                ? trans.__('At %1: %2', formatClock(props.now, true), text)
                : text
            }
            alert={alert}
          />
        </div>
        <Under {...props} />
        {!past && <WaitingCells {...props} />}
        {verdict &&
          (verdict.standings.length > 0 ? (
            <VerdictFacts
              verdict={verdict}
              world={cluster}
              commands={props.commands}
              trans={trans}
            />
          ) : verdict.headline ? (
            <p className="jp-DtrainCluster-reason">{unbroken(verdict.hint)}</p>
          ) : (
            <p className="jp-DtrainUi-under">{busyNote(verdict, trans)}</p>
          ))}
        {!verdict && <Why {...props} />}
        {props.ignored && (
          <p className="jp-DtrainCluster-reason">
            {trans.__('Ignored: %1', props.ignored.text)}
          </p>
        )}
        <Recovered cluster={cluster} trans={trans} />
        {isStarting(cluster) && cluster.state !== 'pending' && (
          <>
            <StartBar {...props} />
            <Progress cluster={cluster} trans={trans} />
          </>
        )}
      </div>
      <Alternatives {...props} />
      <Actions {...props} />
      <Next {...props} />
    </div>
  );
}

/** Failed background work of dtrain-lab, which was restarted. */
function Recovered(props: {
  cluster: Cluster;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { cluster, trans } = props;
  const text = recovered(cluster.troubles, trans);
  return text ? (
    <p
      className="jp-DtrainCluster-reason"
      title={cluster.troubles.map(t => t.message).join('\n')}
    >
      {text}
    </p>
  ) : null;
}

/** Reason of the state, as text of its source. */
function Why(props: ICardProps & { now: number }): JSX.Element | null {
  const { cluster, commands, trans } = props;
  const { reason } = cluster;
  if (cluster.lost.length) {
    return <LostFacts {...props} />;
  }
  if (cluster.state === 'pending' && !reason?.host) {
    return <PendingFacts {...props} />;
  }
  if (wasKilled(cluster)) {
    return (
      <div className="jp-DtrainCluster-reason">
        <p>{killedText(cluster.summary, trans)}</p>
      </div>
    );
  }
  if (!reason) {
    return null;
  }
  return (
    <div className="jp-DtrainCluster-reason">
      {sentence(cluster, trans).includes(
        reason.message
      ) ? null : cluster.state === 'failed' ? (
        <pre tabIndex={0}>{reason.message}</pre>
      ) : (
        <p>{reason.message}</p>
      )}
      {reason.hint && <p>{reason.hint}</p>}
      {reason.host && (
        <Action
          label={trans.__('Sign in…')}
          hidden={!commands.hasCommand(CommandIDs.signIn)}
          primary
          onClick={() =>
            void commands.execute(CommandIDs.signIn, {
              host: reason.host ?? ''
            })
          }
        />
      )}
    </div>
  );
}

/** What ranks do that says nothing about their training. */
const NEUTRAL = new Set(['running', 'diagnosing', 'trying']);

/** All is well only if there is no other message. */
function sentenceGlyph({ cluster, ignored }: ICardProps): GlyphKind {
  const kind = clusterGlyph(cluster);
  const well =
    kind === 'busy' &&
    !NEUTRAL.has(cluster.summary.code) &&
    !cluster.metrics.verdicts.length &&
    !ignored;
  return well ? 'good' : kind;
}

function Under(
  props: ICardProps & { now: number; past?: boolean }
): JSX.Element | null {
  const { cluster, records, trans, past } = props;
  const nameOf = (path: string): string => records.notebookName(path);
  const running = cluster.running[0];
  const parts: React.ReactNode[] = [];
  if (cluster.state === 'pending') {
    parts.push(expected(props));
  } else if (running) {
    const since = formatSpan(props.now / 1000 - running.started_at);
    const name = running.notebook && nameOf(running.notebook);
    parts.push(
      <>
        {name && `${name}, `}
        <CellLink place={running} {...props} />
      </>,
      // time in the debugger would read as time for which it has run
      cluster.state === 'paused'
        ? null
        : past
          ? unbroken(trans.__('had run for %1', since))
          : unbroken(trans.__('running for %1', since))
    );
  } else if (!past && cluster.state === 'degraded' && cluster.lost.length) {
    const left = cluster.world.size - cluster.lost.length;
    parts.push(
      trans._n(
        '%1 rank keeps its variables and waits.',
        '%1 ranks keep their variables and wait.',
        left
      )
    );
  } else if (cluster.notebooks.length) {
    parts.push(cluster.notebooks.map(nameOf).join(', '));
  } else if (cluster.former_notebooks.length) {
    const former = cluster.former_notebooks.map(nameOf);
    parts.push(trans.__('used earlier by %1', listed(former, trans)));
  }
  if (cluster.ends_at !== null && !past) {
    const left = cluster.ends_at - props.now / 1000;
    parts.push(
      cluster.ends_at === cluster.limit_at
        ? trans.__('its allocation ends in %1', formatSpan(left))
        : trans.__('ends in %1 without a cell', formatSpan(left))
    );
  }
  const shown = parts.filter(part => part !== null);
  return shown.length ? (
    <p className="jp-DtrainUi-under jp-DtrainUi-parts">
      {shown.map((part, i) => (
        <span key={i}>{part}</span>
      ))}
    </p>
  ) : null;
}
