import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { Cluster, Lost } from '../../tokens';
import { formatClock, formatRanks } from '../../metrics/format';
import { Filled } from '../../ui/text/filled';
import { CellLink } from './cellLink';

/** Maximum number of lost ranks that are listed separately; more are summarized. */
const MOST = 3;

/** Lost ranks: where, why and when. */
export function LostFacts(props: {
  cluster: Cluster;
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { cluster, trans } = props;
  const { lost } = cluster;
  if (!lost.length) {
    return null;
  }
  return (
    <>
      {lost.slice(0, MOST).map(loss => (
        <LossFacts
          key={loss.rank}
          loss={loss}
          named={lost.length > 1}
          {...props}
        />
      ))}
      {lost.length > MOST && (
        <p className="jp-DtrainUi-under">
          {trans.__(
            'Ranks %1 were lost, too.',
            formatRanks(lost.slice(MOST).map(l => l.rank))
          )}
        </p>
      )}
    </>
  );
}

function LossFacts(props: {
  loss: Lost;
  named: boolean;
  cluster: Cluster;
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element {
  const { loss, cluster, trans } = props;
  const rank = cluster.ranks[loss.rank];
  const where = rank ? trans.__('%1, %2', rank.node, rank.device) : '';
  const { cell } = loss;
  return (
    <dl className="jp-DtrainUi-facts">
      {props.named && (
        <>
          <dt>{trans.__('Rank')}</dt>
          <dd>
            <b>{loss.rank}</b>
          </dd>
        </>
      )}
      <dt>{trans.__('Where')}</dt>
      <dd>
        {cell ? (
          <Filled
            text={where ? trans.__('%1, in %2', '%1', '%2') : '%2'}
            parts={[
              where,
              <CellLink
                key="cell"
                place={{ ...loss, cell, kind: loss.cell_kind }}
                {...props}
              />
            ]}
          />
        ) : (
          where
        )}
      </dd>
      <dt>{trans.__('Why')}</dt>
      <dd>{loss.why}</dd>
      <dt>{trans.__('When')}</dt>
      <dd>{formatClock(loss.at * 1000, true)}</dd>
    </dl>
  );
}
