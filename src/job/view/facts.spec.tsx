import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { makeCluster } from '../../testing/clusters';
import { Job, JobMetrics } from '../../tokens';
import { Facts } from './facts';
import { IParentJob } from './parentJob';

/** The facts of a job that has logged a loss and a learning rate. */
function said(
  averaged: string[] | undefined,
  size = 4,
  history: object[] = [],
  more: Partial<Job> = {},
  parent: IParentJob = { job: null, isDeleted: false }
): string {
  const { metrics, world } = makeCluster();
  const job = {
    metrics: { ...metrics, values: { step: 9, loss: 0.5, lr: 0.01 }, averaged },
    world: { ...world, size },
    size: { nodes: 1, ranks_per_node: size },
    parameters: {},
    progress: [],
    created_at: 1,
    started_at: null,
    ended_at: null,
    state: 'succeeded',
    ...more
  } as unknown as Job;
  return renderToStaticMarkup(
    <Facts
      job={job}
      parent={parent}
      metrics={{ history } as unknown as JobMetrics}
      values={job.metrics.values}
      trans={nullTranslator.load('x')}
      commands={new CommandRegistry()}
    />
  ).replace(/<[^>]+>/g, '|');
}

it('says of which ranks logged values are, if that is known', () => {
  expect(said([])).toContain('Logged by rank 0||loss 0.5, lr 0.01|');
  expect(said(['loss'])).toContain('Logged by rank 0||lr 0.01|');
  expect(said(['loss'])).toContain('Logged, mean over ranks||loss 0.5|');
  expect(said(['loss', 'lr'])).not.toContain('rank 0');
  expect(said(undefined)).toContain('Logged||loss 0.5, lr 0.01|');
  expect(said(['loss'], 1)).toContain('Logged||loss 0.5, lr 0.01|');
});

it('says how much communication there was, which the charts have no room for', () => {
  const point = { at: 1, comm_overhead: 0.05, comm_overhead_error: 0.06 };
  const points = [point, { ...point, at: 2 }];
  expect(said([], 4, points, { state: 'running' })).toContain(
    'Communication||at most 11\u00a0%|'
  );
  expect(said([], 4, points)).toContain(
    'Communication||Last: at most 11\u00a0%|'
  );
  const last = { comm_overhead: 0.28, comm_overhead_error: 0.02 };
  const metrics = {
    ...makeCluster().metrics,
    current: false,
    last
  } as unknown as Job['metrics'];
  const stopped = [point, { ...point, at: 2 }];
  expect(said([], 4, stopped, { metrics })).toContain(
    'Communication||Last: 28\u00a0% ± 2|'
  );
  // a cancelled job's head had no time to say that training has ended
  const vague = { at: 1, comm_overhead: 0.3, comm_overhead_error: 0.5 };
  expect(said([], 4, [vague, vague], { state: 'cancelled' })).toContain(
    'Communication||Last: too unsteady to tell|'
  );
  const none = { at: 1, comm_overhead: null, comm_overhead_error: null };
  expect(said([], 4, [none, none])).not.toContain('Communication');
});

it('says how the command for its end stands', () => {
  const row = (code: number | null): string =>
    said([], 4, [], {
      end_command: { command: 'mail', exit_code: code, output: '' }
    });
  expect(row(0)).toContain('Command when it ends||done|');
  expect(row(null)).toContain('Command when it ends||running|');
  expect(row(3)).toContain('Command when it ends||failed, exit code 3|');
  expect(said([])).not.toContain('Command when it ends');
});

it('says from which step a resumed job began, or that it started over', () => {
  const resumed = { name: 'again', parent: 'j1', resumed_step: 2304 };
  expect(said([], 4, [], resumed)).toContain(
    'Resumed from|||again, at step 2,304|'
  );
  const over = { ...resumed, resumed_step: null };
  expect(said([], 4, [], over)).toContain('Started over after|||again|');
});

it('leads to the job that it started over after, unless that was deleted', () => {
  const over = { name: 'again', parent: 'j1', resumed_step: null };
  const first = { id: 'j1', name: 'again', created_at: 1 } as Job;
  expect(said([], 4, [], over, { job: first, isDeleted: false })).toMatch(
    /Started over after\|\|\|again, /
  );
  // no link: the view of that job would only say that there is no such job
  const gone = { job: null, isDeleted: true };
  expect(said([], 4, [], over, gone)).toContain(
    'Started over after||again (deleted)|'
  );
  const resumed = { ...over, resumed_step: 2304 };
  expect(said([], 4, [], resumed, gone)).toContain(
    'Resumed from||again, at step 2,304 (deleted)|'
  );
});
