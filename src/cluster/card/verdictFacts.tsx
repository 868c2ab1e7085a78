import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { LocationLink } from '../../locations/link';
import { locationText } from '../../locations/texts';
import { Cluster, HangPosition, Verdict } from '../../tokens';
import { formatSpan, unbroken } from '../../metrics/format';
import { doingOf, idleText, ranksOfPosition } from '../model/hangPosition';

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
        {verdict.standings.map(position => (
          <React.Fragment key={position.ranks.join()}>
            <dt>{ranksOfPosition(position, trans)}</dt>
            <dd>
              <Position {...props} position={position} />
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
function Position(props: {
  position: HangPosition;
  verdict: Verdict;
  cluster: Cluster;
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element {
  const { position, trans } = props;
  const { where } = position;
  const known = locationText(where, trans) !== null;
  const doing = doingOf(position, trans);
  if (!known && !doing) {
    return (
      <>
        {idleText(position, props.verdict, props.cluster, trans) ??
          trans.__('not known yet')}
      </>
    );
  }
  return (
    <>
      {where && known && (
        <LocationLink
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
