import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { makeRank } from '../../testing/clusters';
import { Rank } from '../../tokens';
import { layout } from './sparkline';
import { splitOf } from '../../metrics/split';
import { SplitLegend } from './splitBar';

/** The legend of a rank's step, with the tooltips of its parts. */
function told(more: Partial<Rank>): string {
  const split = splitOf(makeRank(0, { step_s: 0.1, ...more }))!;
  return renderToStaticMarkup(
    React.createElement(SplitLegend, {
      split,
      trans: nullTranslator.load('dtrain_lab')
    })
  ).replace(/\u00a0/g, ' ');
}

it('names waiting for data where there is some', () => {
  const rank = { comm_overhead: 0.05, data_s: 0.09, compute_s: 0.002 };
  expect(told(rank)).toContain('data 90 %');
  expect(told(rank)).toContain('forward, backward 2 %');
  expect(told({ ...rank, data_s: 0.0004 })).not.toContain('data ');
});

it('says of computation that it includes a short sleep, unless a verdict finds out what waits', () => {
  const rank = { comm_overhead: 0.05, compute_s: 0.07 };
  expect(told(rank)).toContain('also a short sleep');
  expect(told(rank)).not.toContain('other waits');
  const asleep = told({ ...rank, asleep_s: 0.07 });
  expect(asleep).toContain('forward, backward 25 %');
  expect(asleep).toContain('other waits 70 %');
  expect(asleep).not.toContain('also a short sleep');
  expect(asleep).toContain('that runs between them');
});

it('leaves gaps in a line where nothing is known', () => {
  const idle = layout([null, null, 1, 2, null, null], 100, 20);
  expect(idle.map(([x]) => x)).toEqual([1, 99]);
  const points = layout([1, null, 2], 100, 20);
  expect(points.map(([, y]) => Number.isNaN(y))).toEqual([false, true, false]);
  expect(points[2][1]).toBeLessThan(points[0][1]);
});
