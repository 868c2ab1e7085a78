import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { ILocation } from '../../locations/location';
import { LocationLink } from '../../locations/link';
import { locationText } from '../../locations/texts';
import { Cluster, HangPosition, Job, Verdict } from '../../tokens';
import { formatSpan, unbroken } from '../../metrics/format';
import { doingOf, idleText, ranksOfPosition } from '../model/hangPosition';

/** Which ranks are stuck where, which wait in which collective, and for how long. */
export function VerdictFacts(props: {
  verdict: Verdict;
  /** The cluster or the job of these ranks. */
  world: Pick<Cluster | Job, 'ranks'>;
  commands: CommandRegistry;
  trans: TranslationBundle;
  /** Path of the notebook in JupyterLab, whose cells are numbered by their position; undefined in a cluster. */
  submitted?: string;
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
        {verdict.since_s !== null && (
          <>
            <dt>{trans.__('For')}</dt>
            <dd>{formatSpan(verdict.since_s)}</dd>
          </>
        )}
      </dl>
    </>
  );
}

/** "data.py, line 40, called from cell [7], line 10, in all_reduce, collective no. 22,093 of this cell, 25 MiB". */
function Position(props: {
  position: HangPosition;
  verdict: Verdict;
  world: Pick<Cluster | Job, 'ranks'>;
  commands: CommandRegistry;
  trans: TranslationBundle;
  submitted?: string;
}): JSX.Element {
  const { position, trans } = props;
  const { where } = position;
  const known = locationText(where, trans) !== null;
  const caller = where?.called_from ?? null;
  const doing = doingOf(position, trans);
  if (!known && !doing) {
    return (
      <>
        {idleText(position, props.verdict, props.world, trans) ??
          trans.__('not known yet')}
      </>
    );
  }
  return (
    <>
      {where && known && (
        <Place {...props} place={where} follows={!!(caller || doing)} />
      )}
      {known && caller && (
        <>
          {' '}
          {trans.__('called from')}{' '}
          <Place {...props} place={caller} follows={!!doing} />
        </>
      )}
      {known && doing ? ' ' : ''}
      {position.sequence === null ? (
        doing
      ) : (
        <span
          title={trans.__(
            'Collectives are counted in each process group, from the beginning of the cell. Ranks that keep pace have the same number.'
          )}
        >
          {doing}
        </span>
      )}
    </>
  );
}

/** Link to a place, with the comma before what follows. */
function Place(props: {
  place: ILocation;
  follows: boolean;
  commands: CommandRegistry;
  trans: TranslationBundle;
  submitted?: string;
}): JSX.Element {
  const { place, submitted } = props;
  return (
    <span className="jp-DtrainUi-withMark">
      <LocationLink
        place={
          submitted && place.cell ? { ...place, notebook: submitted } : place
        }
        byPosition={submitted !== undefined}
        commands={props.commands}
        trans={props.trans}
      />
      {props.follows ? ',' : ''}
    </span>
  );
}
