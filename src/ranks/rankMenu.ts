import { CommandIDs } from '../commands';
import { Cluster } from '../tokens';
import { IMenuItem } from '../ui/menu';

/** Menu with actions for ranks of a cluster: one, or those of a node. */
export function menuOfRanks(
  cluster: Cluster,
  ranks: readonly number[]
): IMenuItem[] {
  const { id, may } = cluster;
  const single = ranks.length === 1;
  const wanted: [IMenuItem, boolean][] = [
    [{ command: CommandIDs.showRanks, args: { id, ranks: [...ranks] } }, true],
    [
      { command: CommandIDs.showStacks, args: { id, ranks: [...ranks] } },
      may.includes('stacks')
    ],
    [
      {
        command: CommandIDs.debugRank,
        args: { id, rank: ranks[0], pause: true }
      },
      single && cluster.running.length > 0 && cluster.notebooks.length > 0
    ],
    [
      { command: CommandIDs.interruptRanks, args: { id } },
      may.includes('interrupt')
    ],
    [
      {
        command: CommandIDs.restartRanks,
        args: { id, ranks: [...ranks], ask: true }
      },
      may.includes('restart')
    ],
    [{ command: CommandIDs.copyReport, args: { id } }, true]
  ];
  return wanted.filter(w => w[1]).map(([item]) => item);
}
