import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { makeCluster, makeRank } from '../../testing/clusters';
import { RankGrid } from './rankGrid';

it('has no parts of a rank whose communication is too unsteady to tell', () => {
  const parts = { step_s: 0.2, comm_overhead: 0.25 };
  const ranks = [
    makeRank(0, { ...parts, comm_overhead_error: 0.02 }),
    makeRank(1, { ...parts, comm_overhead_error: 0.4 })
  ];
  const page = document.createElement('div');
  page.innerHTML = renderToStaticMarkup(
    <RankGrid
      cluster={makeCluster({ ranks })}
      ranks={ranks}
      selected={null}
      onSelect={() => undefined}
      onMenu={() => undefined}
      trans={nullTranslator.load('dtrain_lab')}
    />
  );
  const [sure, vague] = [...page.querySelectorAll('tr[data-rank]')];
  expect(sure.textContent).toContain('150\u00a0ms');
  expect(sure.querySelector('[data-part]')).not.toBeNull();
  expect(vague.textContent).toBe('idle1–1.0');
  expect(
    [...vague.querySelectorAll('td[title]')].map(cell => [
      cell.textContent,
      cell.getAttribute('title')
    ])
  ).toEqual([
    ['–', 'too unsteady to tell'],
    ['', 'too unsteady to tell']
  ]);
  expect(vague.querySelector('[data-part]')).toBeNull();
});
