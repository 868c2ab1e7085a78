import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { PlaceLink } from '../../places/link';
import { placeWords } from '../../places/texts';
import { Cluster, Standing, Verdict } from '../../tokens';
import { formatSpan, unbroken } from '../../ui/figures/format';
import { doingOf, idleWords, whoStands } from '../model/standing';

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
            <dt>{whoStands(standing, trans)}</dt>
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
    return (
      <>
        {idleWords(standing, props.verdict, props.cluster, trans) ??
          trans.__('not known yet')}
      </>
    );
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
