import React from 'react';

import { RankGrid } from './rankGrid';
import { NodeRows } from './nodeRows';
import { IRowsProps, MapAndSlowest } from './slowest';
import { listed, markedFirst } from '../model/texts';

/** Maximum number of ranks with a row each; above that, one row per node with one square per rank. */
export const MOST_ROWS = 16;
/** Maximum number of squares in rows of nodes; above that, a map of squares and the slowest ranks. */
export const MOST_SQUARES = 128;

/** The ranks of a cluster in the sidebar. */
export function RankRows(props: IRowsProps): JSX.Element {
  const ranks = listed(props.cluster, props.trans);
  const passed = { ...props, cluster: { ...props.cluster, ranks } };
  if (ranks.length > MOST_SQUARES) {
    return <MapAndSlowest {...passed} />;
  }
  return ranks.length > MOST_ROWS ? (
    <NodeRows {...passed} />
  ) : (
    <RankGrid {...passed} ranks={markedFirst(ranks)} />
  );
}
