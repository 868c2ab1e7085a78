import { TranslationBundle } from '@jupyterlab/translation';

import { Cluster } from '../../tokens';
import { formatRanks } from '../../metrics/format';

/** How a world continues without its lost ranks. */
export interface IShrinkPlan {
  /** New number of ranks. */
  size: number;
  lost: number[];
  /** Numbers of lost ranks that stay in use: they get the variables of ranks that end. */
  replaced: number[];
  /** Living ranks that end. */
  ending: number[];
}

/**
 * The same rules as the server's: numbers from 0 without gaps, and whole nodes.
 *
 * @returns null if no rank is lost, or none would be left
 */
export function shrinkPlan(cluster: Cluster): IShrinkPlan | null {
  const { size: now } = cluster.world;
  const lost = cluster.ranks.filter(r => r.state === 'lost').map(r => r.rank);
  const perNode = cluster.nodes.length > 1 ? now / cluster.nodes.length : 1;
  const size = Math.floor((now - lost.length) / perNode) * perNode;
  if (!lost.length || size < 1) {
    return null;
  }
  const ending = cluster.ranks
    .filter(r => r.rank >= size && r.state !== 'lost')
    .map(r => r.rank);
  return { size, lost, replaced: lost.filter(r => r < size), ending };
}

/** Text on what happens to the variables. */
export function shrinkText(
  plan: IShrinkPlan,
  trans: TranslationBundle
): string {
  const { size, lost, replaced, ending } = plan;
  if (!replaced.length) {
    // lost ranks, and those of a node that is no longer whole, are above the ones that stay
    const gone = [...lost, ...ending].sort((a, b) => a - b);
    const stay = Array.from({ length: size }, (_, rank) => rank);
    return [
      trans._n(
        'Rank %2 is left out.',
        'Ranks %2 are left out.',
        gone.length,
        formatRanks(gone)
      ),
      trans._n(
        'Rank %2 keeps its variables.',
        'Ranks %2 keep their variables.',
        size,
        formatRanks(stay)
      )
    ].join(' ');
  }
  return [
    trans._n(
      'Rank %2 gets a new process with the variables of rank %3.',
      'Ranks %2 get new processes with the variables of ranks %3.',
      replaced.length,
      formatRanks(replaced),
      formatRanks(ending.slice(0, replaced.length))
    ),
    trans._n(
      'Rank %2 ends. The others keep their variables.',
      'Ranks %2 end. The others keep their variables.',
      ending.length,
      formatRanks(ending)
    )
  ].join(' ');
}

/** The button that leaves the lost ranks out: "Go on with 6 ranks". */
export function goOnText(size: number, trans: TranslationBundle): string {
  return trans._n('Go on with %1 rank', 'Go on with %1 ranks', size);
}
