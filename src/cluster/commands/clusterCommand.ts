import { TranslationBundle } from '@jupyterlab/translation';
import { LabIcon } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import {
  ReadonlyJSONObject,
  ReadonlyPartialJSONObject
} from '@lumino/coreutils';

import {
  Cluster,
  IAdviceState,
  IClusterActions,
  IKernelRecords,
  ILiveState,
  ISelection,
  ISite
} from '../../tokens';
import { sentence } from '../../verdicts/sentence';
import { reportErrors } from '../dialogs/reportErrors';

/** Arguments of a command. */
export type Args = ReadonlyPartialJSONObject;

/** What the commands for clusters use. */
export interface IClusterCommandParts {
  commands: CommandRegistry;
  model: ILiveState;
  site: ISite;
  selection: ISelection;
  adviceState: IAdviceState;
  actions: IClusterActions;
  records: IKernelRecords;
  trans: TranslationBundle;
}

/** A command for a cluster. */
export interface IClusterCommand {
  label: string;
  /** The label where the cluster is not named otherwise, if it is not the usual one. */
  labelOf?: (cluster: Cluster) => string;
  /** The label without any cluster, if it is not the usual one. */
  labelAlone?: string;
  caption: string;
  /** Shown in toolbars, to which users may add it. */
  icon?: LabIcon;
  /** The permission that is required; none if missing. */
  may?: string;
  /** Why there is nothing to do; null where there is. */
  obstacle?: (cluster: Cluster) => string | null;
  /** Its arguments besides the cluster's id, as a schema. */
  args?: ReadonlyJSONObject;
  execute: (cluster: Cluster, args: Args) => Promise<void> | void;
}

/** Whether this user may change nothing on this server. */
export function isReadOnly(site: ISite): boolean {
  return site.facts?.may_write === false;
}

/** Why such a user can't act on a cluster. */
export function watchOnly(trans: TranslationBundle): string {
  return trans.__('You can watch this cluster, but not change it.');
}

/** Adds a command for a cluster. */
export type Add = (id: string, command: IClusterCommand) => void;

/** The function that adds a command for the cluster with the argument `id`, else the current one. */
export function adder(parts: IClusterCommandParts): Add {
  const { commands, model, selection, trans } = parts;
  const target = (args: Args): Cluster | null =>
    [...model.clusters, ...selection.ended].find(c => c.id === args.id) ??
    (args.id === undefined ? selection.current : null);
  return (id, command) => {
    const { label, labelOf, labelAlone, caption, icon, execute } = command;
    commands.addCommand(id, {
      label: args => {
        // where it is one of several, a menu without a cluster of its own says which
        const of = args.id === undefined ? target(args) : null;
        if (of && labelOf) {
          return labelOf(of);
        }
        if (!of && args.id === undefined && labelAlone) {
          return labelAlone;
        }
        return of && model.clusters.length > 1
          ? trans.__('%1 (%2)', label, of.name)
          : label;
      },
      caption: args => whyNot(command, target(args), parts) ?? caption,
      icon: args => (args.toolbar ? icon : undefined),
      isEnabled: args => whyNot(command, target(args), parts) === null,
      execute: async args => {
        const cluster = target(args);
        if (cluster) {
          const act = (): Promise<void> | void => execute(cluster, args);
          await reportErrors(trans, act, cluster.name);
        }
      },
      describedBy: {
        args: {
          type: 'object',
          properties: {
            id: {
              type: 'string',
              description: 'Id of the cluster; if missing, the current one'
            },
            ...command.args
          }
        }
      }
    });
  };
}

/** Why a command can't act on a cluster; null if it can. */
function whyNot(
  { may, obstacle }: IClusterCommand,
  cluster: Cluster | null,
  { site, trans }: IClusterCommandParts
): string | null {
  if (!cluster) {
    return trans.__('There is no cluster.');
  }
  if (may && !cluster.may.includes(may)) {
    return isReadOnly(site)
      ? watchOnly(trans)
      : trans.__('Not possible now. %1', sentence(cluster, trans));
  }
  return obstacle?.(cluster) ?? null;
}
