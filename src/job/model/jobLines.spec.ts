import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { Job } from '../../tokens';
import { jobLine, resumedLine, rowLine } from './jobLines';

const trans = nullTranslator.load('');

it('says of a paused job that it is paused, not how far it is', () => {
  const job = {
    state: 'running',
    summary: { code: 'paused', values: {}, text: 'Paused on 2 ranks.' },
    metrics: { verdicts: [] },
    ranks: [{ step: 12 }],
    progress: [{ phase: 'cells', done: 3, total: 5 }]
  } as unknown as Job;
  expect(jobLine(job, trans)).toBe('Paused on 2 ranks.');
});

it('has no step of a job that nothing watches', () => {
  const job = {
    state: 'running',
    summary: { code: 'job_running', values: {}, text: '' },
    metrics: { verdicts: [] },
    ranks: [{ step: 12 }],
    progress: [{ phase: 'cells', done: 3, total: 5 }]
  } as unknown as Job;
  expect(jobLine(job, trans)).toBe('cell 3 of 5, step 12');
  for (const code of ['head_ended', 'unwatched']) {
    const unwatched = { ...job, reason: { code } } as Job;
    expect(jobLine(unwatched, trans)).toBe('cell 3 of 5, not watched');
  }
});

it("has no step of a resumed job that its log would contradict: ranks count their processes' own steps", () => {
  const job = {
    state: 'running',
    resumed_step: 1220,
    summary: { code: 'job_running', values: {}, text: '' },
    metrics: { verdicts: [], values: { step: 1276 } },
    ranks: [{ step: 55 }, { step: 56 }],
    progress: [{ phase: 'cells', done: 4, total: 4 }]
  } as unknown as Job;
  expect(jobLine(job, trans)).toBe('cell 4 of 4, 56 steps since resuming');
  expect(jobLine({ ...job, ranks: [] }, trans)).toBe('cell 4 of 4');
});

it('tells jobs of one name apart: when each was submitted, once, and which goes on with which', () => {
  const at = new Date(2026, 2, 2, 8, 45).getTime() / 1000;
  const job = (id: string, name: string, parent: string | null = null): Job =>
    ({
      id,
      name,
      parent,
      state: 'succeeded',
      notebook: 'train.ipynb',
      notebook_path: 'jobs/train.ipynb',
      created_at: at,
      started_at: at + 1,
      ended_at: at + 9.1,
      progress: [],
      ranks: []
    }) as unknown as Job;
  const all = [job('a', 'job'), job('b', 'job', 'a'), job('c', 'other', 'a')];
  const lines = all.map(j => rowLine(j, all, trans));
  // without its notebook, which is theirs, too
  expect(lines[0]).toMatch(/^Submitted .*8:45[^·]* · 8\.1\u00a0s$/);
  const runs = { ...all[0], state: 'queued', summary: { text: 'Waiting.' } };
  expect(rowLine(runs as Job, all, trans)).toMatch(
    /^Submitted .*8:45.* · Waiting\.$/
  );
  // of an earlier version: it is not known when
  expect(rowLine({ ...runs, created_at: 0 } as Job, all, trans)).toBe(
    'Waiting.'
  );
  expect(lines[1]).toMatch(
    /^Started over after the job of .*8:45.* · train\.ipynb · 8.1/
  );
  const resumed = { ...all[1], resumed_step: 1500 };
  expect(rowLine(resumed, all, trans)).toMatch(
    /^Resumed the job of .*8:45.* at step 1,500 · train\.ipynb · 8.1/
  );
  expect(lines[2]).toBe('train.ipynb · 8.1\u00a0s');
  // where a column says when
  const beside = all.map(j => resumedLine(j, all, trans));
  const took = ' · 8.1\u00a0s';
  expect(beside.map(line => line + took)).toEqual([
    lines[2],
    lines[1],
    lines[2]
  ]);
});
