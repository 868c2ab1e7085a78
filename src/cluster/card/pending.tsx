import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { CommandIDs } from '../../commands';
import { Cluster } from '../../tokens';
import { Action } from '../../ui/actionButton';
import { uniqueKeys } from '../../ui/lists/uniqueKeys';
import { FactList } from '../../ui/lists/factList';
import {
  formatClock,
  formatSpan,
  formatTime,
  unbroken
} from '../../metrics/format';

interface IPendingProps {
  cluster: Cluster;
  commands: CommandRegistry;
  trans: TranslationBundle;
  /** Current time, ms. */
  now: number;
}

/** Short text on when a request may start; null if the scheduler does not say. */
export function expected(props: IPendingProps): string | null {
  const { trans, now } = props;
  const at = props.cluster.reason?.expected_start_at;
  if (!at) {
    return null;
  }
  const when = formatClock(at * 1000);
  const minutes = Math.round((at - now / 1000) / 60);
  return minutes > 0
    ? unbroken(
        trans.__(
          'Should start at %1, in about %2',
          when,
          formatTime(60 * minutes)
        )
      )
    : trans.__('Should start at %1', when);
}

/** Why a request waits, which jobs are ahead of it, and how long it has waited. */
export function PendingFacts(props: IPendingProps): JSX.Element {
  const { cluster, trans, now } = props;
  const { reason } = cluster;
  const facts: [string, string][] = [];
  if (reason?.message && reason.message !== cluster.summary.text) {
    facts.push([trans.__('Reason'), reason.message]);
  }
  if (reason && reason.ahead !== null) {
    facts.push([
      trans.__('Ahead'),
      reason.ahead
        ? trans._n('%1 job', '%1 jobs', reason.ahead)
        : trans.__('no jobs')
    ]);
  }
  facts.push([
    trans.__('Waiting'),
    formatSpan(now / 1000 - cluster.created_at)
  ]);
  return (
    <>
      <FactList facts={facts} />
      {reason?.hint && <p>{reason.hint}</p>}
    </>
  );
}

/** Alternative requests that would start sooner, or at all. */
export function Alternatives(props: IPendingProps): JSX.Element | null {
  const { cluster, commands, trans } = props;
  const others = cluster.reason?.alternatives ?? [];
  if (
    !others.length ||
    cluster.state !== 'pending' ||
    !commands.hasCommand(CommandIDs.startCluster)
  ) {
    return null;
  }
  const keys = uniqueKeys(others.map(({ text }) => text));
  return (
    <section aria-label={trans.__('Start sooner')}>
      <h3 className="jp-DtrainCluster-small">{trans.__('Start sooner')}</h3>
      <ul className="jp-DtrainCluster-profiles">
        {others.map(({ text, request }, index) => (
          <li key={keys[index]}>
            <span>{text}</span>
            <Action
              label={trans.__('Change')}
              onClick={() =>
                commands.execute(CommandIDs.startCluster, {
                  ...request,
                  instead: cluster.id
                })
              }
            />
          </li>
        ))}
      </ul>
    </section>
  );
}
