import { Notification } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { CommandIDs } from '../../commands';
import {
  Cluster,
  IClusterActions,
  ISelection,
  ISite,
  StartRequest
} from '../../tokens';
import { TOAST_MS } from '../../ui/actionButton';
import { distributedIcon } from '../../ui/icons/icons';
import { reportErrors } from '../dialogs/reportErrors';
import { signedIn } from '../dialogs/signin';
import { DEFAULT_PROFILE } from '../model/site';
import { askStart } from '../dialogs/startForm';

type Args = ReadonlyPartialJSONObject;

/** The command that starts a cluster. */
export function addStartCommand(
  commands: CommandRegistry,
  site: ISite,
  selection: ISelection,
  actions: IClusterActions,
  trans: TranslationBundle
): void {
  commands.addCommand(CommandIDs.startCluster, {
    label: args =>
      args.launcher ? trans.__('Start a cluster') : trans.__('Start Cluster…'),
    caption: trans.__('Start ranks for distributed training'),
    icon: args => (args.launcher ? distributedIcon : undefined),
    // the cluster's id; null if the start was cancelled or failed
    execute: async args => {
      let id: string | null = null;
      await reportErrors(trans, async () => {
        id = await start(args, commands, site, selection, actions, trans);
      });
      return id;
    },
    describedBy: {
      args: {
        type: 'object',
        properties: {
          profile: { type: 'string' },
          ranks: { type: 'number' },
          name: { type: 'string' },
          nodes: { type: 'number' },
          ranks_per_node: { type: 'number' },
          instead: {
            type: 'string',
            description: 'Id of a cluster that is stopped first'
          },
          ask: {
            type: 'boolean',
            description: 'Whether to show the dialog first'
          }
        }
      }
    }
  });
}

/** A cluster whose start was cancelled. */
export function tellCancelled(name: string, trans: TranslationBundle): void {
  Notification.info(trans.__('The start of %1 was cancelled.', name), {
    autoClose: TOAST_MS
  });
}

async function start(
  args: Args,
  commands: CommandRegistry,
  site: ISite,
  selection: ISelection,
  actions: IClusterActions,
  trans: TranslationBundle
): Promise<string | null> {
  const opener = document.activeElement;
  await commands.execute(CommandIDs.showPanel);
  const instead = args.instead as string | undefined;
  if (instead) {
    await actions.stop(instead);
  }
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
    if (made === null && opener instanceof HTMLElement && opener.isConnected) {
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
  await signedIn(trans, async () => void (await send(request)));
  return made;
}
