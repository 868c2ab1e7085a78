import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { makeCluster, makeRank } from '../../testing/clusters';
import { IPoint } from '../../tokens';
import { ClusterMetrics } from './metrics';

it('parts no step whose communication is too unsteady to tell', () => {
  const said = (error: number): string => {
    const parts = {
      step_s: 0.3,
      comm_overhead: 0.46,
      wait_s: 0.006,
      compute_s: 0.162
    };
    const cluster = makeCluster({ ranks: [makeRank(0, parts)] });
    const metrics = {
      ...cluster.metrics,
      ...parts,
      current: true,
      comm_overhead_error: error
    };
    return renderToStaticMarkup(
      <ClusterMetrics
        cluster={{ ...cluster, metrics }}
        history={[]}
        trans={nullTranslator.load('dtrain_lab')}
      />
    );
  };
  expect(said(0.02)).toContain('forward, backward 54');
  expect(said(0.51)).toContain('too unsteady to tell');
  expect(said(0.51)).not.toContain('forward');
  expect(said(0.51)).not.toContain('of which');
});

it('has a dash for both metrics of the last run, and no line break within them', () => {
  const cluster = makeCluster();
  const metrics = {
    ...cluster.metrics,
    current: false,
    last: {
      samples_per_s: 2003,
      comm_overhead: 0.46,
      comm_overhead_error: 0.51
    }
  } as unknown as typeof cluster.metrics;
  const text = renderToStaticMarkup(
    <ClusterMetrics
      cluster={{ ...cluster, metrics }}
      history={[]}
      trans={nullTranslator.load('dtrain_lab')}
    />
  );
  expect(text).toContain('last:\u00a02,003\u00a0samples/s');
  expect(text).toContain('<b data-metric="throughput">–</b>');
  expect(text).toContain('<b data-metric="overhead">–</b>');
  expect(text).toContain('last: too unsteady to tell');
});

it('draws no line of shares that are too unsteady to tell, as the chart of the Ranks view', () => {
  const lines = (overheadError: number): boolean => {
    const cluster = makeCluster();
    const metrics = {
      ...cluster.metrics,
      current: false,
      last: { comm_overhead: 0.46, comm_overhead_error: overheadError }
    } as unknown as typeof cluster.metrics;
    const point = { samples: null, overhead: 0.46, overheadError };
    return renderToStaticMarkup(
      <ClusterMetrics
        cluster={{ ...cluster, metrics }}
        history={[point, point] as unknown as IPoint[]}
        trans={nullTranslator.load('dtrain_lab')}
      />
    ).includes('Communication of the last minutes');
  };
  expect(lines(0.02)).toBe(true);
  expect(lines(0.51)).toBe(false);
});
