import { TranslationBundle } from '@jupyterlab/translation';
import { ReadonlyJSONObject } from '@lumino/coreutils';

import { CommandIDs } from '../../commands';
import { Cluster, Profile } from '../../tokens';
import { wasKilled } from '../../verdicts/endings';
import { isStarting } from '../model/phases';
import { isBuiltIn } from '../model/site';

/** A button of the card. */
export interface IButton {
  label: string;
  command: string;
  args?: ReadonlyJSONObject;
  primary?: boolean;
  /** Description, if the label does not say what it does. */
  title?: string;
  /** Key that is kept when the label changes, so that the button keeps the focus. */
  key?: string;
}

/** What can be done with a cluster that starts, or that has ended. */
export function ofEnd(
  cluster: Cluster,
  profiles: readonly Profile[],
  trans: TranslationBundle
): IButton[] {
  const may = new Set(cluster.may);
  if (isStarting(cluster) && may.has('stop')) {
    const label =
      cluster.state === 'pending'
        ? trans.__('Cancel the request')
        : trans.__('Cancel');
    return [{ label, command: CommandIDs.stopCluster, args: { ask: false } }];
  }
  if (cluster.state === 'stopped') {
    const notebook = cluster.notebooks[cluster.notebooks.length - 1];
    return [
      {
        label: trans.__('Start again'),
        command: CommandIDs.startCluster,
        args: { ...sizeOf(cluster), name: cluster.name },
        primary: true
      },
      ...(notebook
        ? [
            {
              label: trans.__('Output'),
              command: CommandIDs.showCell,
              args: { notebook }
            }
          ]
        : []),
      ...(wasKilled(cluster)
        ? [{ label: trans.__('Copy report'), command: CommandIDs.copyReport }]
        : []),
      {
        label: trans.__('Close'),
        command: CommandIDs.stopCluster,
        args: { ask: false }
      }
    ];
  }
  if (!may.has('remove')) {
    return [];
  }
  const others = cluster.reason?.alternatives ?? [];
  const editsProfile =
    !!cluster.profile &&
    profiles.length > 0 &&
    !isBuiltIn(profiles, cluster.profile);
  return [
    ...others.map(({ text, request }, i) => ({
      label: text,
      command: CommandIDs.startCluster,
      args: { ...request, instead: cluster.id } as ReadonlyJSONObject,
      primary: i === 0
    })),
    {
      label: trans.__('Start again'),
      command: CommandIDs.startCluster,
      args: { ...sizeOf(cluster), name: cluster.name, instead: cluster.id },
      primary: !others.length
    },
    ...(editsProfile
      ? [
          {
            label: trans.__('Edit the profile'),
            command: CommandIDs.editProfile,
            args: { name: cluster.profile }
          }
        ]
      : []),
    { label: trans.__('Copy report'), command: CommandIDs.copyReport },
    {
      label: trans.__('Remove'),
      command: CommandIDs.stopCluster,
      args: { ask: false }
    }
  ];
}

/** Request for a cluster of the same size. */
export function sizeOf(cluster: Cluster): ReadonlyJSONObject {
  const { profile, nodes, world } = cluster;
  return nodes.length > 1
    ? {
        profile,
        nodes: nodes.length,
        ranks_per_node: Math.round(world.size / nodes.length)
      }
    : { profile, ranks: world.size };
}
