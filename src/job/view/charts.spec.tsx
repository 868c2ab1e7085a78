import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it, vi } from 'vitest';

import { makeCluster } from '../../testing/clusters';
import { Job, JobMetrics } from '../../tokens';
import { Charts } from './charts';

vi.mock('../../ranks/charts/chart', () => ({
  TimeChart: (props: { times: number[]; summary: string }) => (
    <p>{`${props.summary} ${props.times.map(t => t / 1000)}`}</p>
  )
}));

const trans = nullTranslator.load('dtrain_lab');

it('ends the line of a logged value where it was logged last, the others where the job did', () => {
  const point = (at: number, step: number): object => ({
    at,
    samples_per_s: 10,
    memory_bytes: 1,
    values: { step, loss: 1 / step }
  });
  const history = [point(1, 1), point(2, 2), point(3, 2), point(4, 2)];
  const text = renderToStaticMarkup(
    <Charts
      job={
        {
          ended_at: 5,
          state: 'succeeded',
          world: { size: 2 },
          metrics: {}
        } as Job
      }
      metrics={{ history } as unknown as JobMetrics}
      trans={trans}
    />
  );
  expect(text).toContain('samples per second, latest 1,2,3,4<');
  expect(text).toContain('loss: 0.5, latest 1,2<');
});

it('says of a logged value whether it is a mean, and nothing where that is not known', () => {
  const said = (averaged: string[] | undefined, size = 2): string => {
    const point = { values: { step: 1, loss: 1 } };
    const history = [
      { at: 1, ...point },
      { at: 2, ...point }
    ];
    const { world, metrics } = makeCluster();
    const job = {
      ended_at: 5,
      state: 'done',
      world: { ...world, size },
      metrics: { ...metrics, averaged }
    };
    return renderToStaticMarkup(
      <Charts
        job={job as unknown as Job}
        metrics={{ history } as unknown as JobMetrics}
        trans={trans}
      />
    );
  };
  expect(said(['loss'])).toContain('mean over ranks');
  expect(said([])).toContain('rank 0');
  for (const text of [said(['loss']), said([])]) {
    expect(text).not.toContain('if averaged');
  }
  expect(said(['loss'], 1)).not.toContain('over ranks');
  expect(said(undefined)).not.toMatch(/rank 0|over ranks/);
});
