import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { makeCluster, makeRank } from '../../testing/clusters';
import { Cluster } from '../../tokens';
import { shrinkPlan, shrinkText } from './shrink';

const trans = nullTranslator.load('dtrain_lab');

it('goes on with whole nodes, and says who stands in for whom', () => {
  const lose = (rank: number, size: number): Cluster['ranks'] =>
    Array.from({ length: size }, (_, n) =>
      makeRank(n, { state: n === rank ? 'lost' : 'idle' })
    );
  expect(shrinkPlan(makeCluster())).toBeNull();
  expect(shrinkPlan(makeCluster({ ranks: lose(1, 2) }))).toEqual({
    size: 1,
    lost: [1],
    replaced: [],
    ending: []
  });
  const last = shrinkPlan(makeCluster({ ranks: lose(1, 2) }))!;
  expect(shrinkText(last, trans)).toBe(
    'Rank 1 is left out. Rank 0 keeps its variables.'
  );
  const [node] = makeCluster().nodes;
  const wide = makeCluster({
    ranks: lose(2, 8),
    nodes: Array.from({ length: 4 }, () => node)
  });
  const plan = shrinkPlan(wide)!;
  expect(plan).toEqual({ size: 6, lost: [2], replaced: [2], ending: [6, 7] });
  expect(shrinkText(plan, trans)).toBe(
    'Rank 2 gets a new process with the variables of rank 6. ' +
      'Ranks 6–7 end. The others keep their variables.'
  );
});
