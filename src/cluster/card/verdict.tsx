import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { PlaceLink } from '../../places/link';
import { placeWords } from '../../places/words';
import { Cluster, Standing, Verdict } from '../../tokens';
import {
  formatRanks,
  formatSize,
  formatSpan,
  unbroken
} from '../../ui/figures/format';

/** Which ranks are stuck where, which wait in which collective, and since when. */
export function VerdictFacts(props: {
  verdict: Verdict;
  cluster: Cluster;
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element {
  const { verdict, trans } = props;
  return (
    <>
      <p className="jp-DtrainCluster-reason">{unbroken(verdict.hint)}</p>
      <dl className="jp-DtrainUi-facts">
        {verdict.standings.map(standing => (
          <React.Fragment key={standing.ranks.join()}>
            <dt>
              {standing.ranks.length === 1
                ? trans.__('Rank %1', standing.ranks[0])
                : unbroken(trans.__('Ranks %1', formatRanks(standing.ranks)))}
            </dt>
            <dd>
              <Stands {...props} standing={standing} />
            </dd>
          </React.Fragment>
        ))}
        <dt>{trans.__('Since')}</dt>
        <dd>{formatSpan(verdict.since_s ?? 0)}</dd>
      </dl>
    </>
  );
}

/** "cell [7], line 10, in all_reduce no. 22,093, 25 MiB". */
function Stands(props: {
  standing: Standing;
  verdict: Verdict;
  cluster: Cluster;
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element {
  const { standing, trans } = props;
  const { where } = standing;
  const known = placeWords(where, trans) !== null;
  const doing = doingOf(standing, trans);
  if (!known && !doing) {
    return <>{idleWords(props) ?? trans.__('not known yet')}</>;
  }
  return (
    <>
      {where && known && (
        <PlaceLink
          place={where}
          commands={props.commands}
          trans={props.trans}
        />
      )}
      {known && doing ? ', ' : ''}
      {doing}
    </>
  );
}

/** Text on ranks that others wait for and that run no cell; null if one of them runs. */
function idleWords(props: {
  standing: Standing;
  verdict: Verdict;
  cluster: Cluster;
  trans: TranslationBundle;
}): string | null {
  const { standing, verdict, cluster, trans } = props;
  if (standing.ranks.some(rank => cluster.ranks[rank]?.state !== 'idle')) {
    return null;
  }
  switch (verdict.code) {
    case 'left':
    case 'extra':
      return trans._n(
        'has finished the cell',
        'have finished the cell',
        standing.ranks.length
      );
    case 'not_in_cell':
      return trans._n(
        'does not run this cell',
        'do not run this cell',
        standing.ranks.length
      );
    default:
      return trans.__('idle');
  }
}

function doingOf(
  { operation, sequence, bytes }: Standing,
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
