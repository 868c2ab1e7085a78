import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { ENDING } from '../../api/states';
import { CommandIDs } from '../../commands';
import { unbroken } from '../../metrics/format';
import { Cluster, IAdviceState } from '../../tokens';
import { alarmOf } from '../../verdicts/verdict';
import { AdviceCard } from './adviceCard';

interface IShownAdviceProps {
  cluster: Cluster;
  adviceState: IAdviceState;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

/** Advice that was not dismissed. */
export function ShownAdvice(props: IShownAdviceProps): JSX.Element | null {
  const { cluster, commands, adviceState, trans } = props;
  const { metrics, id } = cluster;
  const diagnosed = cluster.summary.code === 'diagnosing';
  React.useEffect(() => {
    if (diagnosed) {
      adviceState.setTried(id, null); // its advice is new
    }
  }, [diagnosed, adviceState, id]);
  const quiet = cluster.state === 'paused' || ENDING.includes(cluster.state);
  if (alarmOf(metrics) !== null || quiet) {
    return null; // an alarm or a pause comes first, and a cluster that has ended can't be measured
  }
  if (['diagnosing', 'trying'].includes(cluster.summary.code)) {
    return null; // what is being measured may change it
  }
  const measures =
    cluster.may.includes('stacks') && commands.hasCommand(CommandIDs.diagnose);
  if (!metrics.advice.length) {
    const helps = metrics.diagnosis_helps || !metrics.measured;
    // while a loop runs, its metrics are still changing
    return metrics.no_advice && !metrics.current ? (
      <p className="jp-DtrainUi-noAdvice">
        {unbroken(metrics.no_advice)}{' '}
        {helps && measures && (
          <button
            type="button"
            className="jp-DtrainUi-link"
            onClick={() => void commands.execute(CommandIDs.diagnose, { id })}
          >
            {metrics.measured
              ? trans.__('Diagnose again')
              : trans.__('Diagnose now')}
          </button>
        )}
      </p>
    ) : null;
  }
  return (
    <AdviceCard
      cluster={id}
      advice={
        measures
          ? metrics.advice
          : metrics.advice.map(advice => ({ ...advice, tryable: false }))
      }
      dismissed={name => adviceState.isDismissed(id, name)}
      metrics={metrics}
      onShow={
        commands.hasCommand(CommandIDs.showChange)
          ? advice =>
              void commands.execute(CommandIDs.showChange, {
                id,
                advice: advice.id
              })
          : null
      }
      trying={name => adviceState.isTrying(id, name)}
      tried={adviceState.lastTried(id)}
      onTry={(advice, at) => {
        adviceState.setTried(id, { advice: advice.id, at });
        return commands.execute(CommandIDs.tryAdvice, {
          id,
          advice: advice.id
        });
      }}
      runs={cluster.running.length > 0}
      kept={advice => adviceState.isKept(id, advice.diff)}
      onKeep={
        commands.hasCommand(CommandIDs.keepChange)
          ? advice =>
              void commands.execute(CommandIDs.keepChange, {
                id,
                advice: advice.id
              })
          : null
      }
      onDismiss={(advice, away) => adviceState.dismiss(id, advice.id, away)}
      trans={trans}
    />
  );
}
