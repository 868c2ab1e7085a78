import { TranslationBundle } from '@jupyterlab/translation';

import { locationText } from '../../locations/texts';
import { Cluster, HangPosition, Job, Verdict } from '../../tokens';
import {
  formatCount,
  formatRanks,
  formatSize,
  unbroken
} from '../../metrics/format';

/** "Rank 1", "Ranks 0, 2–7". */
export function ranksOfPosition(
  { ranks }: HangPosition,
  trans: TranslationBundle
): string {
  const text = trans._n(
    'Rank %2',
    'Ranks %2',
    ranks.length,
    formatRanks(ranks)
  );
  return ranks.length === 1 ? text : unbroken(text);
}

/** "cell [7], line 10, in all_reduce, collective no. 22,093 of this cell, 25 MiB": as on the card, without its links. */
export function positionText(
  position: HangPosition,
  verdict: Verdict,
  cluster: Cluster,
  trans: TranslationBundle
): string {
  const at = locationText(position.where, trans);
  const caller = locationText(position.where?.called_from, trans);
  const place = at && caller ? trans.__('%1, called from %2', at, caller) : at;
  const doing = doingOf(position, trans);
  return place && doing
    ? trans.__('%1, %2', place, doing)
    : place ||
        doing ||
        (idleText(position, verdict, cluster, trans) ??
          trans.__('not known yet'));
}

/** Text on ranks that others wait for and that run no cell; null if one of them runs. */
export function idleText(
  position: HangPosition,
  verdict: Verdict,
  world: Pick<Cluster | Job, 'ranks'>,
  trans: TranslationBundle
): string | null {
  if (position.ranks.some(rank => world.ranks[rank]?.state !== 'idle')) {
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

/**
 * "in all_reduce, collective no. 22,093 of this cell, 25 MiB", "called all_reduce, …" of ranks that have left it;
 * empty outside collectives.
 */
export function doingOf(
  { operation, sequence, bytes, left }: HangPosition,
  trans: TranslationBundle
): string {
  if (!operation) {
    return '';
  }
  const name = left
    ? trans.__('called %1', operation)
    : trans.__('in %1', operation);
  const call =
    sequence === null
      ? name
      : trans.__(
          '%1, collective no. %2 of this cell',
          name,
          formatCount(sequence)
        );
  return unbroken(bytes ? trans.__('%1, %2', call, formatSize(bytes)) : call);
}

/** Whether a rank waits in a collective, where it can't be paused before the others have joined. */
export function isInCollective(rank: number, { standings }: Verdict): boolean {
  return standings.some(
    s => s.operation !== null && !s.left && s.ranks.includes(rank)
  );
}
