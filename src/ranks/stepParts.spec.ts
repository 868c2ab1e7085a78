import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { makeCluster, makeRank } from '../testing/clusters';
import { StepParts, waitsOf } from './stepParts';

it('says how long each of two ranks waits where that differs', () => {
  const trans = nullTranslator.load('dtrain_lab');
  const ranks = [0.04, 0, 0].map((wait_s, n) => makeRank(n, { wait_s }));
  expect(waitsOf(ranks.slice(0, 2), trans)).toBe(
    'rank 0: 40\u00a0ms, rank 1: 0.0\u00a0ms'
  );
  expect(waitsOf(ranks, trans)).toBe('');
  expect(waitsOf([ranks[1], ranks[2]], trans)).toBe('');
});

it('has no parts where communication is too unsteady to tell, as the panel', () => {
  const { metrics } = makeCluster();
  const told = renderToStaticMarkup(
    React.createElement(StepParts, {
      metrics: {
        ...metrics,
        step_s: 0.1,
        comm_overhead: 0.5,
        comm_overhead_error: 0.4,
        compute_s: 0.008
      },
      ranks: [makeRank(0)],
      trans: nullTranslator.load('dtrain_lab')
    })
  );
  expect(told).toContain('100\u00a0ms');
  expect(told).toContain('too unsteady to tell');
  expect(told).not.toContain('data-part');
});

it('has the parts of the panel, with their times', () => {
  const { metrics } = makeCluster();
  const told = renderToStaticMarkup(
    React.createElement(StepParts, {
      metrics: {
        ...metrics,
        step_s: 0.1,
        comm_overhead: 0.5,
        transfer_s: 0.05,
        wait_s: 0,
        compute_s: 0.008,
        optimizer_s: 0.0002
      },
      ranks: [0, 1, 2].map(n => makeRank(n)),
      trans: nullTranslator.load('dtrain_lab')
    })
  )
    .replace(/<[^>]+>/g, '|')
    .replace(/\u00a0/g, ' ');
  expect(told).toContain('forward, backward |8.0 ms| 8 %');
  expect(told).toContain('optimizer |0.20 ms| 0 %');
  expect(told).toContain('other |42 ms| 42 %');
  expect(told).not.toContain('waiting');
});

it('has the error of waiting for data where it was measured', () => {
  const { metrics } = makeCluster();
  const told = (data_error: number | null): string =>
    renderToStaticMarkup(
      React.createElement(StepParts, {
        metrics: {
          ...metrics,
          step_s: 0.1,
          comm_overhead: 0.12,
          comm_overhead_error: 0.05,
          data_s: 0.03,
          data_error
        },
        ranks: [makeRank(0)],
        trans: nullTranslator.load('dtrain_lab')
      })
    )
      .replace(/<[^>]+>/g, '|')
      .replace(/\u00a0/g, ' ');
  expect(told(0.04)).toContain('data |30 ms| 30 % ± 4|');
  expect(told(null)).toContain('data |30 ms| 30 %|');
});
