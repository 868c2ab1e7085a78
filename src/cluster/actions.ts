import { Clipboard, Notification } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { CommandIDs } from '../commands';
import { Cluster, IClusters } from '../tokens';
import { formatRanks } from '../ui/format';
import { distributedIcon } from '../ui/icons';
import { isTrouble } from '../ui/sentence';
import {
  askSize,
  askStart,
  confirmLoss,
  showFailure,
  showDiagnosis,
  showStacks
} from './dialogs';
import { signedIn, signInTo } from './signin';

type Args = ReadonlyPartialJSONObject;

const CLUSTER_ARGS = {
  args: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'Id of the cluster' },
      ask: { type: 'boolean', description: 'Ask first' },
      size: { type: 'number', description: 'Ranks that it shall have' },
      ranks: {
        type: 'array',
        items: { type: 'number' },
        description: 'Ranks; all unless told'
      }
    }
  }
} as const;

/** What can be done with clusters, as commands. */
export function addClusterCommands(
  commands: CommandRegistry,
  model: IClusters,
  trans: TranslationBundle
): void {
  const target = (args: Args): Cluster | null =>
    model.clusters.find(c => c.id === args.id) ?? model.selected;

  const added: string[] = [];
  const add = (
    id: string,
    label: string,
    may: string | null,
    execute: (cluster: Cluster, args: Args) => Promise<void> | void
  ): void => {
    commands.addCommand(id, {
      label,
      isEnabled: args => {
        const cluster = target(args);
        return !!cluster && (may === null || cluster.may.includes(may));
      },
      execute: async args => {
        const cluster = target(args);
        if (cluster) {
          await guarded(trans, () => execute(cluster, args));
        }
      },
      describedBy: CLUSTER_ARGS
    });
    added.push(id);
  };

  commands.addCommand(CommandIDs.startCluster, {
    label: args =>
      args.launcher ? trans.__('Start a cluster') : trans.__('Start Cluster…'),
    caption: trans.__('Start ranks for distributed training'),
    icon: args => (args.launcher ? distributedIcon : undefined),
    execute: args => guarded(trans, () => start(args, commands, model, trans)),
    describedBy: {
      args: {
        type: 'object',
        properties: {
          profile: { type: 'string' },
          ranks: { type: 'number' },
          name: { type: 'string' },
          ask: { type: 'boolean', description: 'Show the dialog first' }
        }
      }
    }
  });

  add(
    CommandIDs.stopCluster,
    trans.__('Stop…'),
    null,
    async (cluster, args) => {
      const sure =
        args.ask === false ||
        (await confirmLoss(
          trans.__('Stop %1?', cluster.name),
          trans._n(
            'Its rank ends, and its variables are lost.',
            'Its %1 ranks end, and their variables are lost.',
            cluster.world.size
          ),
          trans.__('Stop'),
          trans
        ));
      if (sure) {
        await model.stop(cluster.id);
      }
    }
  );

  add(
    CommandIDs.interruptRanks,
    trans.__('Interrupt, Keep Variables'),
    'interrupt',
    cluster => model.interrupt(cluster.id)
  );

  add(
    CommandIDs.restartRanks,
    trans.__('Restart Ranks…'),
    'restart',
    async (cluster, args) => {
      const ranks = (args.ranks as number[] | undefined) ?? null;
      const living = (ranks ?? cluster.ranks.map(r => r.rank)).filter(
        n => cluster.ranks[n]?.state !== 'lost'
      );
      const title = ranks
        ? trans.__('Restart ranks %1?', formatRanks(ranks))
        : trans.__('Restart all ranks of %1?', cluster.name);
      const sure =
        !living.length ||
        (await confirmLoss(
          title,
          trans.__('Their variables are lost. Those of other ranks are kept.'),
          trans.__('Restart'),
          trans
        ));
      if (sure) {
        await model.restart(cluster.id, ranks);
      }
    }
  );

  add(
    CommandIDs.resizeCluster,
    trans.__('Change Size…'),
    'restart',
    async (cluster, args) => {
      const size =
        (args.size as number | undefined) ??
        (await askSize(cluster, model, trans));
      if (size !== null && size !== cluster.world.size) {
        await model.resize(cluster.id, size);
      }
    }
  );

  add(
    CommandIDs.showStacks,
    trans.__('Show Stacks'),
    'stacks',
    async (cluster, args) => {
      const ranks = args.ranks as number[] | undefined;
      const stacks = (await model.stacks(cluster.id)).filter(
        s => !ranks || ranks.includes(s.rank)
      );
      await showStacks(cluster.name, stacks, trans);
    }
  );

  add(CommandIDs.diagnose, trans.__('Diagnose'), 'stacks', async cluster => {
    const found = await model.diagnose(cluster.id);
    await showDiagnosis(cluster.name, found, trans);
  });

  add(CommandIDs.copyReport, trans.__('Copy Report'), null, cluster => {
    Clipboard.copyToSystem(JSON.stringify(cluster, null, 2));
    Notification.success(trans.__('The report is on the clipboard.'));
  });

  commands.addCommand(CommandIDs.signIn, {
    label: trans.__('Sign In…'),
    caption: trans.__('Answer what a host asks'),
    isEnabled: args => !!args.host,
    execute: args =>
      guarded(trans, async () => {
        await signInTo(String(args.host), trans);
      }),
    describedBy: {
      args: {
        type: 'object',
        properties: { host: { type: 'string', description: 'The host' } }
      }
    }
  });

  commands.addCommand(CommandIDs.goToTrouble, {
    label: trans.__('Go to Trouble'),
    caption: trans.__('Show the first cluster that needs somebody'),
    execute: async () => {
      const trouble = model.clusters.find(isTrouble);
      if (trouble) {
        model.select(trouble.id);
      }
      await commands.execute(CommandIDs.showPanel);
    },
    describedBy: { args: { type: 'object', properties: {} } }
  });

  notifyWhenPossible(commands, model, added);
}

/** Palette and menus draw themselves anew at each notice: only when what is possible has changed. */
function notifyWhenPossible(
  commands: CommandRegistry,
  model: IClusters,
  ids: readonly string[]
): void {
  let before = '';
  model.changed.connect(() => {
    const now = JSON.stringify([
      model.selected?.id,
      ...model.clusters.map(c => [c.id, ...c.may])
    ]);
    if (now !== before) {
      before = now;
      ids.forEach(id => commands.notifyCommandChanged(id));
    }
  });
}

async function start(
  args: Args,
  commands: CommandRegistry,
  model: IClusters,
  trans: TranslationBundle
): Promise<void> {
  await commands.execute(CommandIDs.showPanel);
  const profile = (args.profile as string | undefined) ?? 'local';
  const kernel = (args.kernel as string | undefined) ?? model.kernel;
  const request = args.ask
    ? await askStart(model, profile, trans)
    : { profile, ranks: (args.ranks as number | undefined) ?? null };
  if (request) {
    await signedIn(trans, async () => {
      await model.start({ ...request, kernel, notebook: model.notebook });
    });
  }
}

/** Do something; where it fails, say what was wrong and what to do. */
export async function guarded(
  trans: TranslationBundle,
  work: () => Promise<void> | void
): Promise<void> {
  try {
    await signedIn(trans, work);
  } catch (error) {
    await showFailure(error, trans);
  }
}
