import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it, vi } from 'vitest';

import { makeCluster, makeVerdict } from '../../testing/clusters';
import { Job, JobMetrics } from '../../tokens';
import { Charts } from './charts';

vi.mock('../../ranks/charts/chart', () => ({
  TimeChart: (props: {
    times: number[];
    summary: string;
    window: number;
    until: number;
    end: string | null;
    marks: unknown[];
    series: { values: (number | null)[]; colour: string }[];
  }) => (
    <p>
      {`${props.summary} ${props.times.map(t => t / 1000)}`}
      <i>{props.series[0].values.join()}</i>
      <s>{props.window}</s>
      <u>{props.until / 1000}</u>
      <b>{`${props.end} ${props.marks.length}`}</b>
      <em>{props.series[0].colour}</em>
    </p>
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
  expect(text).toContain('samples per second, median 1,2,3,4<');
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
  // where the heading has little room, its tooltip has the whole
  expect(said(['loss'])).toMatch(
    /title="mean over ranks".*chartBrief">mean<\/span>/
  );
  expect(said([])).toContain('rank 0');
  for (const text of [said(['loss']), said([])]) {
    expect(text).not.toContain('if averaged');
  }
  expect(said(['loss'], 1)).not.toContain('over ranks');
  expect(said(undefined)).not.toMatch(/rank 0|over ranks/);
});

it('has each logged value at its own time, of a job that has ended within a second, too', () => {
  const logged = [
    { at: 10.1, step: 1, values: { loss: 3, accuracy: 0.1 } },
    { at: 10.2, step: 2, values: { loss: 2 } },
    { at: 10.3, step: 3, values: { loss: 'nan' } },
    { at: 10.4, step: 4, values: { loss: 1, accuracy: 0.2 } }
  ];
  const drawn = (history: object[]): string =>
    renderToStaticMarkup(
      <Charts
        job={
          {
            ended_at: 11,
            state: 'succeeded',
            world: { size: 1 },
            metrics: {}
          } as Job
        }
        metrics={{ history, logged } as unknown as JobMetrics}
        trans={trans}
      />
    );
  const text = drawn([]);
  expect(text).toContain('loss: 1, latest 10.1,10.2,10.3,10.4<i>3,2,,1</i>');
  expect(text).toContain('accuracy: 0.2, latest 10.1,10.4<i>0.1,0.2</i>');
  expect(text).not.toContain('Throughput');
  // all of them are in the chart, also where the history begins later
  const point = { samples_per_s: 10, memory_bytes: 1, values: {} };
  const beside = drawn([
    { at: 10.9, ...point },
    { at: 11, ...point }
  ]);
  expect(beside).toContain('Throughput');
  const window = Number(/<s>([^<]+)/.exec(beside)![1]);
  expect(11 - window).toBeCloseTo(10.1, 6);
});

it.each([
  // [values, end, from, to, text]
  [[10, 11, 14], 15, 10, 15, 'Done'],
  // storing the notebook takes longer than the training has
  [[10, 10.3], 13, 10, 10.3, 'null'],
  // a hang: what has happened is shown
  [[10, 20], 80, 10, 80, 'Done'],
  // the clock of a rank may be ahead
  [[10, 20], 19, 10, 20, 'Done']
])(
  'ends %j, until %d, where something happened',
  (at, ended, from, to, end) => {
    const text = renderToStaticMarkup(
      <Charts
        job={
          {
            ended_at: ended,
            state: 'succeeded',
            world: { size: 1 },
            metrics: {}
          } as Job
        }
        metrics={
          {
            history: [],
            logged: at.map(a => ({ at: a, step: a, values: { loss: a } }))
          } as unknown as JobMetrics
        }
        trans={trans}
      />
    );
    expect(Number(/<u>([^<]+)/.exec(text)![1])).toBeCloseTo(to, 6);
    expect(Number(/<s>([^<]+)/.exec(text)![1])).toBeCloseTo(to - from, 6);
    // the end is named below the axis, where no curve is
    expect(text).toContain(`<b>${end} 0</b>`);
  }
);

it('has headings that fit beside their value', () => {
  const point = { samples_per_s: 140, memory_bytes: 2 ** 30, values: {} };
  const text = renderToStaticMarkup(
    <Charts
      job={
        {
          ended_at: null,
          state: 'running',
          summary: {},
          world: { size: 2 },
          metrics: { ...makeCluster().metrics, current: true }
        } as Job
      }
      metrics={
        {
          history: [
            { at: 10, ...point },
            { at: 11, ...point }
          ]
        } as unknown as JobMetrics
      }
      trans={trans}
    />
  );
  expect(text).toMatch(
    /title="samples\/s"><b>140<\/b> .*chartWords">samples\/s<.*chartBrief">\/s</
  );
  expect(text).toContain(' title="Maximum of all ranks"><b>1.0</b> GiB<');
});

/** Charts of a job that trained at 100 samples/s, and then at 50. */
function charts(job: Partial<Job>): string {
  const rates = [100, 100, 100, 50];
  const history = rates.map((samples_per_s, i) => ({
    at: i,
    samples_per_s,
    memory_bytes: 2 ** 31,
    values: {}
  }));
  return renderToStaticMarkup(
    <Charts
      job={{ ended_at: null, world: { size: 2 }, summary: {}, ...job } as Job}
      metrics={{ history } as unknown as JobMetrics}
      trans={trans}
    />
  );
}

/** Heading and line of its throughput. */
function throughput(job: Partial<Job>): string {
  const shown = charts(job);
  return shown.slice(0, shown.indexOf('Memory'));
}

const past = {
  ...makeCluster().metrics,
  current: false,
  last: { samples_per_s: 50 }
} as unknown as Job['metrics'];

it('has the median of a job that has ended: its last seconds are not typical of it', () => {
  const ended = throughput({
    state: 'cancelled',
    ended_at: 9,
    metrics: past
  });
  expect(ended).toContain('title="samples/s, median"><b>100</b>');
  expect(ended).toContain('--jp-brand-color1');
});

it('has the last memory of a job that nothing watches, not as that of now', () => {
  const reason = { code: 'head_ended' } as Job['reason'];
  const unwatched = charts({ state: 'running', metrics: past, reason });
  expect(unwatched).toContain('>Last: 2.0\u00a0GiB<');
  const watched = charts({
    state: 'running',
    metrics: { ...past, memory_bytes: 1 }
  });
  expect(watched).toContain('<b>2.0</b> GiB');
});

it('says of a job that takes no steps now what its throughput was, as the card of a cluster does', () => {
  const current = { ...past, current: true };
  expect(throughput({ state: 'running', metrics: current })).toContain(
    'title="samples/s"><b>50.0</b>'
  );
  const idle = throughput({ state: 'running', metrics: past });
  expect(idle).toContain(
    'title="Last: 50.0\u00a0samples/s">Last: 50.0\u00a0samples/s<'
  );
  expect(idle).toContain('--jp-ui-font-color3');
  const verdicts = [makeVerdict()];
  const hung = throughput({
    state: 'running',
    metrics: { ...past, verdicts }
  });
  expect(hung.replace(/\u00a0/g, ' ')).toContain('<b>0</b> was 50.0 samples/s');
});
