import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { CommandIDs } from '../../commands';
import { Cluster, Profile, Verdict } from '../../tokens';
import { Action } from '../../ui/actionButton';
import { formatRanks } from '../../metrics/format';
import { alarmOf, isHang } from '../../verdicts/verdict';
import { isInCollective } from '../model/hangPosition';
import { goOnText } from '../model/shrink';
import { IButton, ofEnd } from './endButtons';

/** Actions for a cluster in its current state. */
export function Actions(props: {
  cluster: Cluster;
  ignored: Verdict | null;
  profiles: readonly Profile[];
  /** Commands that are not offered. */
  omits?: readonly string[];
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { cluster, commands, omits, trans } = props;
  const buttons = [
    ...ofLoss(cluster, trans),
    ...ofPause(cluster, commands, trans),
    ...ofHang(cluster, commands, trans),
    ...(props.ignored ? [showIgnored(trans)] : []),
    ...ofSlow(cluster, commands, trans),
    ...ofEnd(cluster, props.profiles, trans)
  ].filter(
    ({ command }) => commands.hasCommand(command) && !omits?.includes(command)
  );
  if (!buttons.length) {
    return null;
  }
  return (
    <div className="jp-DtrainUi-actions">
      {buttons.map(({ label, command, args, primary, title, key }) => (
        <Action
          key={key ?? label}
          label={label}
          primary={primary}
          title={title}
          onClick={() => commands.execute(command, { id: cluster.id, ...args })}
        />
      ))}
    </div>
  );
}

/** Continue or inspect ranks that the debugger has stopped. */
function ofPause(
  cluster: Cluster,
  commands: CommandRegistry,
  trans: TranslationBundle
): IButton[] {
  const paused = cluster.ranks.find(r => r.state === 'paused');
  const failed = cluster.running.some(cell => cell.kind === 'post_mortem');
  return paused && canDebug(cluster, commands)
    ? [
        {
          label: trans.__('Continue'),
          command: CommandIDs.continueRanks,
          title: failed
            ? trans.__(
                'End the post-mortem. Ranks become idle and keep their variables'
              )
            : trans.__('Resume all ranks that the debugger has stopped'),
          primary: true
        },
        {
          label: trans.__('Debug'),
          command: CommandIDs.debugRank,
          args: { rank: paused.rank }
        }
      ]
    : [];
}

function ofHang(
  cluster: Cluster,
  commands: CommandRegistry,
  trans: TranslationBundle
): IButton[] {
  const may = new Set(cluster.may);
  const { metrics } = cluster;
  const stuck = alarmOf(metrics) ?? metrics.verdicts.find(isHang);
  const found: IButton[] = [];
  if (!stuck) {
    const plain = !cluster.metrics.verdicts.length && !cluster.metrics.step_s;
    // no cell runs while ranks are paused where one has failed: Continue ends that
    const runs = cluster.running.some(cell => cell.kind !== 'post_mortem');
    return may.has('interrupt') && plain && runs
      ? [{ label: trans.__('Interrupt'), command: CommandIDs.interruptRanks }]
      : [];
  }
  // of ranks that did not answer an interrupt, nothing has to be guessed: their restart is the way out
  const deaf = stuck.code === 'deaf';
  if (may.has('interrupt') && !deaf) {
    found.push({
      label: trans.__('Interrupt, keep variables'),
      command: CommandIDs.interruptRanks,
      primary: true
    });
  }
  if (may.has('stacks')) {
    found.push({ label: trans.__('Stacks'), command: CommandIDs.showStacks });
  }
  // a rank that has finished the cell, or never started it, has no position and no stack to look at
  const busy = stuck.ranks.filter(n => cluster.ranks[n]?.state !== 'idle');
  const stoppable = busy.find(n => !isInCollective(n, stuck));
  if (stoppable !== undefined && !deaf && canDebug(cluster, commands)) {
    found.push(debug(stoppable, trans));
  }
  if (busy.length && may.has('restart')) {
    const restart = {
      label:
        busy.length === 1
          ? trans.__('Restart rank %1…', busy[0])
          : trans.__('Restart ranks %1…', formatRanks(busy)),
      command: CommandIDs.restartRanks,
      args: { ranks: busy, ask: true },
      primary: deaf
    };
    found.splice(deaf ? 0 : found.length, 0, restart);
  }
  const report = {
    label: trans.__('Copy report'),
    command: CommandIDs.copyReport
  };
  const last = deaf
    ? {
        label: trans.__('Interrupt again'),
        command: CommandIDs.interruptRanks
      }
    : {
        label: trans.__('Ignore'),
        command: CommandIDs.ignoreVerdict,
        title: trans.__('Hide this in this browser until it changes or ends'),
        key: 'ignore'
      };
  return [...found, report, ...(deaf && !may.has('interrupt') ? [] : [last])];
}

function showIgnored(trans: TranslationBundle): IButton {
  return {
    label: trans.__('Show again'),
    command: CommandIDs.showIgnored,
    title: trans.__('Show what was ignored'),
    key: 'ignore'
  };
}

function ofSlow(
  cluster: Cluster,
  commands: CommandRegistry,
  trans: TranslationBundle
): IButton[] {
  const slow = cluster.metrics.verdicts.find(v => v.kind === 'slow');
  if (!slow?.ranks.length || !cluster.may.includes('stacks')) {
    return [];
  }
  const stack = {
    label: trans.__('Show its stack'),
    command: CommandIDs.showStacks,
    args: { ranks: slow.ranks }
  };
  return canDebug(cluster, commands)
    ? [stack, debug(slow.ranks[0], trans)]
    : [stack];
}

function canDebug(cluster: Cluster, commands: CommandRegistry): boolean {
  return (
    cluster.running.length > 0 &&
    cluster.notebooks.length > 0 &&
    commands.hasCommand(CommandIDs.debugRank)
  );
}

function debug(rank: number, trans: TranslationBundle): IButton {
  return {
    label: trans.__('Debug rank %1', rank),
    command: CommandIDs.debugRank,
    args: { rank, pause: true }
  };
}

function ofLoss(cluster: Cluster, trans: TranslationBundle): IButton[] {
  const lost = cluster.ranks.filter(r => r.state === 'lost').map(r => r.rank);
  if (!lost.length || !cluster.may.includes('restart')) {
    return [];
  }
  const one = lost.length === 1;
  const left = cluster.without_lost;
  return [
    {
      label: one
        ? trans.__('Restart rank %1', lost[0])
        : trans.__('Restart ranks %1', formatRanks(lost)),
      command: CommandIDs.restartRanks,
      args: { ranks: lost },
      primary: true
    },
    ...(left
      ? [
          {
            label: goOnText(left.size, trans),
            command: CommandIDs.leaveOutRanks
          }
        ]
      : []),
    {
      label: one ? trans.__('Its last output') : trans.__('Their last output'),
      command: CommandIDs.showLastOutput
    }
  ];
}
