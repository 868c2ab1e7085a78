import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import {
  formatGiB,
  formatRate,
  formatShare,
  formatTime,
  UNKNOWN
} from '../../metrics/format';
import { shareInText, vagueText } from '../../metrics/share';
import { isSplitVague } from '../../metrics/split';
import { FactList } from '../../ui/lists/factList';
import { stateWord } from '../../verdicts/sentence';
import { doing } from '../model/rankFacts';
import { IListedRank } from '../model/texts';

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
