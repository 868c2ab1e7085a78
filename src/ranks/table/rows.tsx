import React from 'react';

import { RankGrid } from './grid';
import { NodeRows } from './nodeRows';
import { IRowsProps, MapAndSlowest } from './slowest';
import { listed, markedFirst } from '../model/words';

/** A row each up to here; above, a row a node with a square a rank. */
export const MOST_ROWS = 16;
/** Squares in rows of nodes up to here; above, a map of squares and the slowest. */
export const MOST_SQUARES = 128;

/** The ranks of a cluster in the sidebar. */
export function RankRows(props: IRowsProps): JSX.Element {
  const ranks = listed(props.cluster, props.trans);
  const told = { ...props, cluster: { ...props.cluster, ranks } };
  if (ranks.length > MOST_SQUARES) {
    return <MapAndSlowest {...told} />;
  }
  return ranks.length > MOST_ROWS ? (
    <NodeRows {...told} />
  ) : (
    <RankGrid {...told} ranks={markedFirst(ranks)} />
  );
}
