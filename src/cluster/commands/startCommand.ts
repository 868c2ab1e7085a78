import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';

import { ENDED } from '../../api/states';
import { CommandIDs, showPanel } from '../../commands';
import { PANEL_ID } from '../../locations/visibility';
import { Cluster, StartRequest } from '../../tokens';
import { distributedIcon } from '../../ui/icons/icons';
import { reportErrors } from '../dialogs/reportErrors';
import { signedIn } from '../dialogs/signin';
import { DEFAULT_PROFILE } from '../model/site';
import { askStart } from '../dialogs/startForm';
import { Args, IClusterCommandParts, isReadOnly } from './clusterCommand';
import { tellBriefly } from '../../ui/text/toast';

/** What a start needs. */
type IStartParts = Pick<
  IClusterCommandParts,
  'model' | 'site' | 'selection' | 'actions' | 'trans'
>;

/** Arguments of the command, as a schema. */
const START_ARGS = {
  profile: {
    type: 'string',
    description: 'Name of the profile; if missing, "local"'
  },
  ranks: {
    type: 'number',
    description: 'Number of ranks; if missing, as the profile says'
  },
  name: {
    type: 'string',
    description: 'Name of the cluster; if missing, the server chooses one'
  },
  nodes: {
    type: 'number',
    description: 'Number of nodes; if missing, as the profile says'
  },
  ranks_per_node: {
    type: 'number',
    description: 'Number of ranks on each node; if missing, as the profile says'
  },
  kernel: {
    type: 'string',
    description:
      "Name of the kernelspec in whose environment the ranks run; if missing, the current notebook's"
  },
  instead: {
    type: 'string',
    description: 'Id of a cluster that is stopped once the new one is accepted'
  },
  ask: {
    type: 'boolean',
    description: 'Whether to show the dialog first'
  },
  launcher: {
    type: 'boolean',
    description: 'Whether the command is shown in the launcher'
  }
} as const;

/** The command that starts a cluster. */
export function addStartCommand(
  commands: CommandRegistry,
  parts: IStartParts
): void {
  const { site, trans } = parts;
  commands.addCommand(CommandIDs.startCluster, {
    label: args =>
      args.launcher ? trans.__('Start a cluster') : trans.__('Start Cluster…'),
    caption: () =>
      isReadOnly(site)
        ? trans.__('You can watch clusters here, but not start one.')
        : trans.__('Start ranks for distributed training'),
    icon: args => (args.launcher || args.toolbar ? distributedIcon : undefined),
    isEnabled: () => !isReadOnly(site),
    // the cluster's id; null if the start was cancelled or failed
    execute: async args => {
      let id: string | null = null;
      await reportErrors(trans, async () => {
        id = await start(args, commands, parts);
      });
      return id;
    },
    describedBy: { args: { type: 'object', properties: START_ARGS } }
  });
}

/** A cluster whose start was cancelled. */
export function tellCancelled(name: string, trans: TranslationBundle): void {
  tellBriefly(trans.__('The start of %1 was cancelled.', name), 'info');
}

async function start(
  args: Args,
  commands: CommandRegistry,
  parts: IStartParts
): Promise<string | null> {
  const { site, selection, actions, trans } = parts;
  const opener = document.activeElement;
  await showPanel(commands);
  const { notebook } = selection;
  const profile = (args.profile as string | undefined) ?? DEFAULT_PROFILE;
  const kernel = (args.kernel as string | undefined) ?? notebook.kernel;
  let made: string | null = null;
  const send = async (request: Partial<StartRequest>): Promise<Cluster> => {
    const cluster = await actions.start({
      ...request,
      kernel,
      notebook: notebook.path
    });
    made = cluster.id;
    return cluster;
  };
  if (args.ask) {
    const first = { profile, ranks: args.ranks as number | undefined };
    await askStart(site, first, trans, send, async ({ id, name }) => {
      made = null;
      await actions.stop(id);
      tellCancelled(name, trans);
    });
    // the dialog gives the focus back to the panel, which was shown before it
    const back = made === null || opener?.closest(`#${PANEL_ID}`);
    if (back && opener instanceof HTMLElement && opener.isConnected) {
      opener.focus();
    }
    return made;
  }
  const request = {
    profile,
    ranks: (args.ranks as number | undefined) ?? null,
    nodes: (args.nodes as number | undefined) ?? null,
    ranks_per_node: (args.ranks_per_node as number | undefined) ?? null,
    name: (args.name as string | undefined) ?? null
  };
  const begin = (): Promise<boolean> =>
    signedIn(trans, async () => void (await send(request)));
  await replacing(args.instead as string | undefined, request, parts, begin);
  return made;
}

/**
 * Start a cluster instead of another one, which is stopped only once the new one is accepted: a refusal must not cost
 * its place in the queue. One that has failed and whose name the new one gets is removed by the server.
 *
 * @param begin - resolves to whether the new one was requested
 */
async function replacing(
  instead: string | undefined,
  { name }: Partial<StartRequest>,
  { model, actions }: IStartParts,
  begin: () => Promise<boolean>
): Promise<void> {
  const before = model.clusters.find(({ id }) => id === instead);
  const gone = before && ENDED.includes(before.state) && before.name === name;
  if ((await begin()) && before && !gone) {
    await actions.stop(before.id);
  }
}
