import { TranslationBundle } from '@jupyterlab/translation';

import { Cluster } from '../../tokens';
import { formatRanks } from '../../metrics/format';

/** How a cluster can go on without its lost ranks. */
type WithoutLost = NonNullable<Cluster['without_lost']>;

/** Text on what happens to the variables. */
export function shrinkText(
  plan: WithoutLost,
  trans: TranslationBundle
): string {
  const { size, lost, replaced, ending } = plan;
  const kept = Array.from({ length: size }, (_, rank) => rank).filter(
    rank => !replaced.includes(rank)
  );
  if (!replaced.length) {
    // lost ranks, and those of a node that is no longer whole, are above the ones that stay
    const gone = [...lost, ...ending].sort((a, b) => a - b);
    return [
      trans._n(
        'Rank %2 is left out.',
        'Ranks %2 are left out.',
        gone.length,
        formatRanks(gone)
      ),
      keptText(kept, trans)
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
      'Rank %2 ends.',
      'Ranks %2 end.',
      ending.length,
      formatRanks(ending)
    ),
    ...(kept.length ? [keptText(kept, trans)] : [])
  ].join(' ');
}

/** That these ranks keep their variables. */
function keptText(ranks: readonly number[], trans: TranslationBundle): string {
  return trans._n(
    'Rank %2 keeps its variables.',
    'Ranks %2 keep their variables.',
    ranks.length,
    formatRanks(ranks)
  );
}

/** The button that leaves the lost ranks out: "Go on with 6 ranks". */
export function goOnText(size: number, trans: TranslationBundle): string {
  return trans._n('Go on with %1 rank', 'Go on with %1 ranks', size);
}
