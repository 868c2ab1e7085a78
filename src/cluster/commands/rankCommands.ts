import { TranslationBundle } from '@jupyterlab/translation';
import { refreshIcon, stopIcon } from '@jupyterlab/ui-components';

import { CommandIDs } from '../../commands';
import { Cluster, IClusterActions } from '../../tokens';
import { askSize, confirmLoss } from '../dialogs/dialogs';
import { askRestart } from '../dialogs/restart';
import { showLastOutput } from '../dialogs/lastOutput';
import { goOnText, shrinkText } from '../model/shrink';
import { Add, Args } from './clusterCommand';

/** Commands for ranks of a cluster: interrupt, restart, leave out, and change their number. */
export function addRankCommands(
  add: Add,
  actions: IClusterActions,
  trans: TranslationBundle
): void {
  add(CommandIDs.interruptRanks, {
    label: trans.__('Interrupt, Keep Variables'),
    caption: trans.__('End the cells that run; ranks keep their variables'),
    icon: stopIcon,
    may: 'interrupt',
    execute: cluster => actions.interrupt(cluster.id)
  });
  add(CommandIDs.restartRanks, {
    label: trans.__('Restart Ranks…'),
    caption: trans.__('Start new processes for ranks'),
    icon: refreshIcon,
    may: 'restart',
    args: {
      ranks: {
        type: 'array',
        items: { type: 'number' },
        description: 'Numbers of the ranks; if missing, all ranks'
      },
      source: {
        type: 'number',
        description: 'Number of the rank whose variables the new processes get'
      },
      ask: {
        type: 'boolean',
        description:
          'Whether to ask the user first; if missing, only where a rank to restart is alive'
      }
    },
    execute: (cluster, args) => restart(cluster, args, actions, trans)
  });
  add(CommandIDs.leaveOutRanks, {
    label: trans.__('Go On without Lost Ranks…'),
    caption: trans.__('Continue with the ranks that are alive'),
    may: 'restart',
    obstacle: cluster =>
      cluster.without_lost
        ? null
        : cluster.lost.length
          ? trans.__("The living ranks can't go on without the lost ones.")
          : noneLost(cluster, trans),
    execute: cluster => goOnWithoutLost(cluster, actions, trans)
  });
  add(CommandIDs.showLastOutput, {
    label: trans.__('Last Output of Lost Ranks'),
    caption: trans.__('Show what lost ranks printed last'),
    obstacle: cluster =>
      cluster.lost.length ? null : noneLost(cluster, trans),
    execute: async cluster => {
      const lost = cluster.lost.map(l => l.rank);
      const outputs = await actions.lastOutput(cluster.id, lost);
      await showLastOutput(cluster, outputs, trans);
    }
  });
  add(CommandIDs.resizeCluster, {
    label: trans.__('Change Size…'),
    caption: trans.__('Change the number of ranks'),
    may: 'restart',
    args: {
      size: {
        type: 'number',
        description: 'The new number of ranks; if missing, the user is asked'
      }
    },
    execute: (cluster, args) => resize(cluster, args, actions, trans)
  });
}

/** Why there is nothing to do about lost ranks. */
function noneLost(cluster: Cluster, trans: TranslationBundle): string {
  return trans.__('No rank of %1 is lost.', cluster.name);
}

/** Restart all ranks, or those that the arguments or the user name. */
async function restart(
  cluster: Cluster,
  args: Args,
  actions: IClusterActions,
  trans: TranslationBundle
): Promise<void> {
  const named = args.ranks as number[] | undefined;
  const ranks = named ?? cluster.ranks.map(r => r.rank);
  const source = (args.source as number | undefined) ?? null;
  const living = ranks.filter(n => cluster.ranks[n]?.state !== 'lost');
  const wanted =
    args.ask === false || (!living.length && args.ask !== true)
      ? { ranks, source }
      : await askRestart(cluster, ranks, source, trans);
  if (wanted) {
    const all = wanted.ranks.length === cluster.world.size;
    await actions.restart(cluster.id, all ? null : wanted.ranks, wanted.source);
  }
}

/** Continue with fewer ranks, if the user agrees to what that costs. */
async function goOnWithoutLost(
  cluster: Cluster,
  actions: IClusterActions,
  trans: TranslationBundle
): Promise<void> {
  const plan = cluster.without_lost;
  if (!plan) {
    return; // it has come back meanwhile
  }
  const sure = await confirmLoss(
    trans._n('Go on with %1 rank?', 'Go on with %1 ranks?', plan.size),
    shrinkText(plan, trans),
    goOnText(plan.size, trans),
    trans
  );
  if (sure) {
    await actions.leaveOut(cluster.id, plan.lost);
  }
}

/** Change the number of ranks to that of the arguments, or to one that the user enters. */
async function resize(
  cluster: Cluster,
  args: Args,
  actions: IClusterActions,
  trans: TranslationBundle
): Promise<void> {
  const size = args.size as number | undefined;
  if (size === undefined) {
    await askSize(cluster, trans, ranks => actions.resize(cluster.id, ranks));
  } else if (size !== cluster.world.size) {
    await actions.resize(cluster.id, size);
  }
}
