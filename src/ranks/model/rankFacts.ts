import { TranslationBundle } from '@jupyterlab/translation';

import { cellName, locationText } from '../../locations/texts';
import { Verdict } from '../../tokens';
import { formatCount } from '../../metrics/format';
import { stateWord } from '../../verdicts/sentence';
import { IListedRank } from './texts';

/** A rank's activity, as short text. */
export function doing(rank: IListedRank, trans: TranslationBundle): string {
  const { where } = rank;
  const place = locationText(where, trans);
  if (place !== null && ['stuck', 'paused'].includes(rank.state)) {
    return place;
  }
  if (rank.state === 'busy' && !rank.doing && where?.cell) {
    return cellName(where.cell, trans, where.cell_kind);
  }
  return rank.doing ?? rank.word ?? stateWord(rank.state, trans);
}

/**
 * Position of a rank in a stuck world: its own line, or the collective in which it waits.
 *
 * A brief one lacks the collective's number where all ranks that wait have the same, which the card says.
 */
export function hangPositionText(
  rank: IListedRank,
  verdict: Verdict,
  trans: TranslationBundle,
  brief = false
): string {
  const position = verdict.standings.find(s => s.ranks.includes(rank.rank));
  const blamed = position?.blamed ?? verdict.ranks.includes(rank.rank);
  const place = locationText(position?.where ?? rank.where, trans);
  if (blamed && place !== null) {
    return place;
  }
  if (position?.operation && !position.left) {
    return position.sequence === null || (brief && atOneCollective(verdict))
      ? position.operation
      : trans.__(
          '%1, no. %2 of this cell',
          position.operation,
          formatCount(position.sequence)
        );
  }
  return place ?? doing(rank, trans);
}

function atOneCollective(verdict: Verdict): boolean {
  const waiting = verdict.standings.filter(s => s.operation);
  return new Set(waiting.map(s => s.sequence)).size === 1;
}
