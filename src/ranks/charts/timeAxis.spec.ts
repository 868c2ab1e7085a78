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

it('says why charts of steps are empty, and has no times where nothing has happened', () => {
  const at = Date.now();
  const history = new MetricsHistory();
  history.add(makeCluster());
  const [idle] = history.of(makeCluster().id);
  const trained = { ...idle, at: at - 400_000, samples: 5 };
  const axis = (earlier: (typeof idle)[], over: boolean, more = {}) =>
    axisOf([{ ...idle, ...more }], earlier, 5, at, over, trans);
  expect(axis([], false)).toMatchObject({
    none: 'No training steps yet.',
    blank: true
  });
  expect(axis([], true).none).toBe('No training steps were taken.');
  const before = axis([trained], false);
  expect(before.none).toMatch(/^No steps in this period; the last were at /);
  expect(before.blank).toBe(false);
  expect(axis([], false, { slowed: [1] }).blank).toBe(false);
});
