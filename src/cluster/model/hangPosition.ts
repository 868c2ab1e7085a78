import { TranslationBundle } from '@jupyterlab/translation';

import { locationText } from '../../locations/texts';
import { Cluster, HangPosition, Verdict } from '../../tokens';
import { formatRanks, formatSize, unbroken } from '../../metrics/format';

/** "Rank 1", "Ranks 0, 2–7". */
export function ranksOfPosition(
  { ranks }: HangPosition,
  trans: TranslationBundle
): string {
  return ranks.length === 1
    ? trans.__('Rank %1', ranks[0])
    : unbroken(trans.__('Ranks %1', formatRanks(ranks)));
}

/** "cell [7], line 10, in all_reduce no. 22,093, 25 MiB": as on the card, without its links. */
export function positionText(
  position: HangPosition,
  verdict: Verdict,
  cluster: Cluster,
  trans: TranslationBundle
): string {
  const known = [
    locationText(position.where, trans),
    doingOf(position, trans)
  ].filter(Boolean);
  return known.length
    ? known.join(', ')
    : (idleText(position, verdict, cluster, trans) ??
        trans.__('not known yet'));
}

/** Text on ranks that others wait for and that run no cell; null if one of them runs. */
export function idleText(
  position: HangPosition,
  verdict: Verdict,
  cluster: Cluster,
  trans: TranslationBundle
): string | null {
  if (position.ranks.some(rank => cluster.ranks[rank]?.state !== 'idle')) {
    return null;
  }
  switch (verdict.code) {
    case 'left':
    case 'extra':
      return trans._n(
        'has finished the cell',
        'have finished the cell',
        position.ranks.length
      );
    case 'not_in_cell':
      return trans._n(
        'does not run this cell',
        'do not run this cell',
        position.ranks.length
      );
    default:
      return trans.__('idle');
  }
}

/** "in all_reduce no. 22,093, 25 MiB"; empty outside collectives. */
export function doingOf(
  { operation, sequence, bytes }: HangPosition,
  trans: TranslationBundle
): string {
  if (!operation) {
    return '';
  }
  const call =
    sequence === null
      ? trans.__('in %1', operation)
      : trans.__('in %1 no. %2', operation, sequence.toLocaleString());
  return unbroken(bytes ? `${call}, ${formatSize(bytes)}` : call);
}

/** Whether a rank waits in a collective, where it can't be paused before the others have joined. */
export function isInCollective(rank: number, { standings }: Verdict): boolean {
  return standings.some(s => s.operation !== null && s.ranks.includes(rank));
}
