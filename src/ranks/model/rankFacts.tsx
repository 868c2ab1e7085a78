import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { cellName, locationText } from '../../locations/texts';
import { Verdict } from '../../tokens';
import {
  formatCount,
  formatGiB,
  formatRate,
  formatShare,
  formatTime,
  UNKNOWN
} from '../../metrics/format';
import { FactList } from '../../ui/lists/factList';
import { stateWord } from '../../verdicts/sentence';
import { shareInText, vagueText } from '../../metrics/share';
import { isSplitVague } from '../../metrics/split';
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
  if (position?.operation) {
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

/** Everything about a rank. */
export function Facts(props: {
  rank: IListedRank;
  trans: TranslationBundle;
}): JSX.Element {
  const { rank, trans } = props;
  const step = rank.step === null ? UNKNOWN : `${rank.step}`;
  const overhead = shareInText(
    rank.comm_overhead,
    rank.comm_overhead_error,
    trans
  );
  const facts: [string, string][] = [
    [trans.__('State'), rank.word ?? stateWord(rank.state, trans)],
    [trans.__('Doing'), doing(rank, trans)],
    [trans.__('Device'), trans.__('%1, %2', rank.device, rank.node)],
    [
      trans.__('Step'),
      rank.unsure && rank.step !== null ? trans.__('%1 (unsure)', step) : step
    ],
    [trans.__('Steps/s'), formatRate(rank.steps_per_s)],
    [trans.__('Samples/s'), formatRate(rank.samples_per_s)],
    [trans.__('Data loading'), formatTime(rank.data_s)],
    [trans.__('Communication'), overhead],
    [
      trans.__('Waiting'),
      isSplitVague(rank) ? vagueText(trans) : formatTime(rank.wait_s)
    ],
    [trans.__('CPU'), formatShare(rank.cpu_utilization)],
    [trans.__('Memory'), `${formatGiB(rank.memory_bytes)} GiB`],
    [trans.__('Process'), rank.pid === null ? UNKNOWN : `${rank.pid}`]
  ];
  if (rank.device !== 'cpu') {
    facts.push([trans.__('GPU'), formatShare(rank.device_utilization)]);
  }
  return <FactList facts={facts} />;
}
