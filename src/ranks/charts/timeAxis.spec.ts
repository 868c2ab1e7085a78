import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { MetricsHistory } from '../../cluster/model/metricsHistory';
import { makeCluster } from '../../testing/clusters';
import { Cluster, Point } from '../../tokens';
import { axisOf } from './timeAxis';

const trans = nullTranslator.load('x');

it('marks where ranks were lost and where the group was rebuilt, also before the page was opened', () => {
  const history = new MetricsHistory();
  const cluster = makeCluster();
  const lost = [{ rank: 1 }] as Cluster['lost'];
  history.add({ ...cluster, lost });
  history.add({ ...cluster, lost });
  history.add({ ...cluster, world: { size: 2, generation: 1 } });
  const labels = (): string[] =>
    axisOf(history.of(cluster.id), [], 5, Date.now(), false, trans).marks.map(
      ({ label }) => label
    );
  // when it was lost is not known
  expect(labels()).toEqual(['group rebuilt']);
  const at = Date.now() / 1000 - 10;
  const { generation } = cluster.world;
  history.prepend(cluster.id, [
    { at, lost: [], generation },
    { at: at + 1, lost: [1, 2], generation }
  ] as unknown as Point[]);
  expect(labels()).toEqual(['group rebuilt', 'ranks 1–2 lost']);
});
