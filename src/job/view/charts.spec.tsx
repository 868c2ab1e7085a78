import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it, vi } from 'vitest';

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
      job={{ ended_at: 5, state: 'succeeded', world: { size: 2 } } as Job}
      metrics={{ history } as unknown as JobMetrics}
      trans={trans}
    />
  );
  expect(text).toContain('samples per second, latest 1,2,3,4<');
  expect(text).toContain('loss: 0.5, latest 1,2<');
});
