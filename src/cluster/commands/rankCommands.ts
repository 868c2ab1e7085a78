import { TranslationBundle } from '@jupyterlab/translation';

import { CommandIDs } from '../../commands';
import { Cluster, IClusterActions } from '../../tokens';
import { askSize, confirmLoss } from '../dialogs/dialogs';
import { askRestart } from '../dialogs/restart';
import { showLastOutput } from '../model/lastOutput';
import { goOnText, shrinkPlan, shrinkText } from '../model/shrink';
import { Add, Args } from './adviceActions';

/** Commands for ranks of a cluster: interrupt, restart, leave out, and change their number. */
export function addRankCommands(
  add: Add,
  actions: IClusterActions,
  trans: TranslationBundle
): void {
  add(
    CommandIDs.interruptRanks,
    trans.__('Interrupt, Keep Variables'),
    'interrupt',
    cluster => actions.interrupt(cluster.id)
  );
  add(
    CommandIDs.restartRanks,
    trans.__('Restart Ranks…'),
    'restart',
    (cluster, args) => restart(cluster, args, actions, trans)
  );
  add(
    CommandIDs.leaveOutRanks,
    trans.__('Go On without Lost Ranks…'),
    'restart',
    cluster => goOnWithoutLost(cluster, actions, trans),
    cluster => shrinkPlan(cluster) !== null
  );
  add(
    CommandIDs.showLastOutput,
    trans.__('Last Output of Lost Ranks'),
    null,
    async cluster => {
      const lost = cluster.lost.map(l => l.rank);
      const outputs = await actions.lastOutput(cluster.id, lost);
      await showLastOutput(cluster, outputs, trans);
    }
  );
  add(
    CommandIDs.resizeCluster,
    trans.__('Change Size…'),
    'restart',
    (cluster, args) => resize(cluster, args, actions, trans)
  );
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
  const plan = shrinkPlan(cluster);
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
