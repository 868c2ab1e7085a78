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

it('has the error of waiting for data where it was measured', () => {
  const said = (data_error: number | null): string => {
    const cluster = makeCluster();
    const metrics = {
      ...cluster.metrics,
      current: true,
      step_s: 0.1,
      comm_overhead: 0.12,
      comm_overhead_error: 0.05,
      data_s: 0.03,
      data_error
    };
    return renderToStaticMarkup(
      <ClusterMetrics
        cluster={{ ...cluster, metrics }}
        history={[]}
        trans={nullTranslator.load('dtrain_lab')}
      />
    ).replace(/\u00a0/g, ' ');
  };
  expect(said(0.04)).toContain('>data 30 % ± 4<');
  expect(said(null)).toContain('>data 30 %<');
});

it('says that the parts of a step are means where ranks may differ', () => {
  const parts = { step_s: 0.2, comm_overhead: 0.5, wait_s: 0.1 };
  const said = (size: number, step_ranks: number[] = []): string => {
    const ranks = Array.from({ length: size }, (_, i) => makeRank(i, parts));
    const cluster = makeCluster({ ranks });
    const took = { ...parts, step_ranks };
    const metrics = { ...cluster.metrics, ...took, current: true };
    return renderToStaticMarkup(
      <ClusterMetrics
        cluster={{ ...cluster, metrics }}
        history={[]}
        trans={nullTranslator.load('dtrain_lab')}
      />
    );
  };
  expect(said(2, [0, 1])).toContain('Step<span>mean of both ranks</span>');
  expect(said(4)).toContain('Step<span>mean of all ranks</span>');
  expect(said(2)).toContain('mean of both ranks');
  expect(said(1)).not.toMatch(/mean of|rank 0/);
  // steps of a larger cluster, before ranks were lost or taken away
  expect(said(2, [0, 1, 2])).toContain(
    'Step<span>mean of the former 3 ranks</span>'
  );
  // a cell of some ranks
  expect(said(4, [0, 2])).toContain('Step<span>mean of ranks 0, 2</span>');
  const alone = said(2, [0]);
  expect(alone).toContain('Step<span>rank 0</span>');
  expect(alone).toContain('Communication<span>rank 0</span>');
  expect(alone).not.toContain('mean of');
});

it('says both metrics of the last run without a dash, and breaks no number from its unit', () => {
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
  expect(text).toContain('<small>Last: 2,003\u00a0samples/s</small>');
  expect(text).toContain('<small>Last: too unsteady to tell</small>');
  expect(text).not.toContain('–');
});

it('keeps the last curve, step and parts of a cluster that is idle, grey and without a claim about now', () => {
  const parts = {
    samples_per_s: 1286,
    step_s: 0.2,
    comm_overhead: 0.25,
    comm_overhead_error: 0.02,
    compute_s: 0.15,
    transfer_s: 0.04,
    wait_s: 0.01
  };
  const trained = { samples: 1286, overhead: 0.25, overheadError: 0.02 };
  const idle = { samples: null, overhead: null, overheadError: null };
  const history = [
    trained,
    trained,
    ...Array<typeof idle>(500).fill(idle)
  ] as unknown as IPoint[];
  const drawn = (more: object): HTMLElement => {
    const cluster = makeCluster();
    const metrics = { ...cluster.metrics, ...more } as typeof cluster.metrics;
    const page = document.createElement('div');
    page.innerHTML = renderToStaticMarkup(
      <ClusterMetrics
        cluster={{ ...cluster, metrics }}
        history={history}
        trans={nullTranslator.load('dtrain_lab')}
      />
    );
    return page;
  };
  const page = drawn({ current: false, last: parts });
  const curves = [...page.querySelectorAll('canvas')];
  expect(curves.map(c => c.getAttribute('aria-label'))).toEqual([
    'Throughput until the end of the last training',
    'Communication until the end of the last training'
  ]);
  expect(curves.every(c => c.hasAttribute('data-past'))).toBe(true);
  expect(page.textContent).toContain('Last: 200\u00a0ms, of which');
  expect(page.querySelector('b[data-metric]')).toBeNull();
  expect(page.textContent).toContain('forward, backward 75');
  // as many rows as while it trains, so that nothing moves
  const training = drawn({ current: true, ...parts });
  const rows = '.jp-DtrainCluster-metric';
  expect(page.querySelectorAll(rows)).toHaveLength(
    training.querySelectorAll(rows).length
  );
  expect(training.querySelector('[data-past]')).toBeNull();
  // a head of an earlier version has no parts of the last step
  const earlier = { ...parts, compute_s: null };
  expect(drawn({ current: false, last: earlier }).textContent).not.toContain(
    'forward'
  );
});

/** What is told of metrics, after points of an earlier training. */
function told(more: object): HTMLElement {
  const cluster = makeCluster();
  const point = { samples: 1286, overhead: 0.25, overheadError: 0.02 };
  const page = document.createElement('div');
  page.innerHTML = renderToStaticMarkup(
    <ClusterMetrics
      cluster={{ ...cluster, metrics: { ...cluster.metrics, ...more } }}
      history={[point, point] as unknown as IPoint[]}
      trans={nullTranslator.load('dtrain_lab')}
    />
  );
  return page;
}

it('says nothing of a cell that does not train, also where its hang was ignored', () => {
  expect(told({ current: false, last: null }).innerHTML).toBe('');
});

it('says in words what is unknown of steps, and draws no line of other steps beside it', () => {
  const page = told({ current: true, step_s: 0.2 });
  expect(page.textContent).toContain(
    'ThroughputUnknown without a DataLoader or dt.step(samples)'
  );
  expect(page.textContent).toContain('Communicationtransfer + waitingUnknown');
  expect(page.textContent).not.toContain('–');
  expect(
    [...page.querySelectorAll('canvas')].map(c => c.getAttribute('aria-label'))
  ).toEqual(['Communication of the last minutes']);
  // not known yet is not unknown: the first steps are being timed
  expect(told({ current: true }).textContent).toContain('– samples/s');
});

it('says what more ranks would change to those who open it only', () => {
  const cluster = makeCluster();
  const metrics = {
    ...cluster.metrics,
    current: true,
    samples_per_s: 2003,
    step_s: 0.05,
    rank_batch: 32,
    global_batch: 32 * cluster.world.size,
    epoch: { number: 1, done: 3, total: 63, split: true }
  } as unknown as typeof cluster.metrics;
  const page = document.createElement('div');
  page.innerHTML = renderToStaticMarkup(
    <ClusterMetrics
      cluster={{ ...cluster, metrics }}
      history={[]}
      trans={nullTranslator.load('dtrain_lab')}
    />
  );
  const forecast = page.querySelector('details')!;
  expect(forecast.open).toBe(false);
  expect(forecast.querySelector('summary')?.textContent).toBe(
    `with ${2 * cluster.world.size} ranks`
  );
  expect(forecast.textContent).toContain('instead of 63');
  forecast.remove();
  expect(page.textContent).not.toContain('instead of');
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
    ).includes('Communication until the end of the last training');
  };
  expect(lines(0.02)).toBe(true);
  expect(lines(0.51)).toBe(false);
});
