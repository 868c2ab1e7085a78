import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { makeRank } from '../../testing/clusters';
import { layout } from './sparkline';
import { splitOf } from '../../metrics/split';
import { SplitLegend } from './splitBar';

it('splits a step into own, transfer and waiting that add up', () => {
  const rank = makeRank(0, {
    step_s: 0.1,
    comm_overhead: 0.3,
    transfer_s: 0.02,
    wait_s: 0.01
  });
  const split = splitOf(rank)!;
  expect(split.own).toBeCloseTo(0.7);
  expect(split.waiting).toBeCloseTo(0.1);
  expect(split.own + split.transfer + split.waiting).toBeCloseTo(1);
});

it('is no computation that waits for data', () => {
  const rank = makeRank(0, { step_s: 0.1, comm_overhead: 0.05, data_s: 0.092 });
  const split = splitOf(rank)!;
  expect(split.data).toBeCloseTo(0.92);
  expect(split.own).toBeCloseTo(0.03);
  const trans = nullTranslator.load('dtrain_lab');
  const told = renderToStaticMarkup(
    React.createElement(SplitLegend, { split, trans })
  ).replace(/\u00a0/g, ' ');
  expect(told).toContain('waiting for data 92 %');
  expect(told).toContain('compute 3 %');
  const none = splitOf({ ...rank, data_s: 0.004 })!;
  expect(
    renderToStaticMarkup(
      React.createElement(SplitLegend, { split: none, trans })
    )
  ).not.toContain('waiting for data');
});

it('is told in parts that add up to 100 %', () => {
  const split = {
    data: 0,
    own: 0.345,
    asleep: 0,
    transfer: 0.325,
    waiting: 0.33
  };
  const told = renderToStaticMarkup(
    React.createElement(SplitLegend, {
      split,
      trans: nullTranslator.load('dtrain_lab')
    })
  );
  expect(told.match(/\d+(?=\u00a0%)/g)).toEqual(['35', '32', '33']);
  expect(told).toContain('also a short sleep');
  expect(told).not.toContain('other waits');
});

it('calls no sleep computation where a verdict says that ranks wait for something else', () => {
  const rank = makeRank(0, {
    step_s: 0.1,
    comm_overhead: 0.05,
    data_s: 0.001,
    asleep_s: 0.07
  });
  const split = splitOf(rank)!;
  expect(split.asleep).toBeCloseTo(0.7);
  expect(split.own).toBeCloseTo(0.25);
  const told = renderToStaticMarkup(
    React.createElement(SplitLegend, {
      split,
      trans: nullTranslator.load('dtrain_lab')
    })
  ).replace(/\u00a0/g, ' ');
  expect(told).toContain('compute 25 %');
  expect(told).toContain('other waits 70 %');
  expect(told).not.toContain('also a short sleep');
  expect(told).toContain('in which ranks run');
  expect(splitOf({ ...rank, asleep_s: 0.2 })).toMatchObject({ own: 0 });
});

it('calls communication transfer where it does not know how much is waiting', () => {
  const rank = makeRank(0, { step_s: 0.1, comm_overhead: 0.25 });
  expect(splitOf(rank)).toMatchObject({ transfer: 0.25, waiting: 0 });
});

it('knows no split without steps', () => {
  expect(splitOf(makeRank(0))).toBeNull();
});

it('leaves gaps in a line where nothing is known', () => {
  const idle = layout([null, null, 1, 2, null, null], 100, 20);
  expect(idle.map(([x]) => x)).toEqual([1, 99]);
  const points = layout([1, null, 2], 100, 20);
  expect(points.map(([, y]) => Number.isNaN(y))).toEqual([false, true, false]);
  expect(points[2][1]).toBeLessThan(points[0][1]);
});
