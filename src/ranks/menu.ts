import { CommandIDs } from '../commands';
import { Cluster } from '../tokens';
import { IMenuItem } from '../ui/menu';

/** What can be done with some ranks of a cluster: one, or those of a node. */
export function menuOfRanks(
  cluster: Cluster,
  ranks: readonly number[]
): IMenuItem[] {
  const { id } = cluster;
  return [
    {
      command: CommandIDs.restartRanks,
      args: { id, ranks: [...ranks], ask: true }
    },
    { command: CommandIDs.interruptRanks, args: { id } },
    { command: CommandIDs.showStacks, args: { id, ranks: [...ranks] } },
    { command: CommandIDs.showRanks, args: { id, ranks: [...ranks] } },
    { command: CommandIDs.copyReport, args: { id } }
  ];
}
