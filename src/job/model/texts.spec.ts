import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { Job } from '../../tokens';
import {
  budgetWords,
  formatHours,
  jobGlyph,
  jobLine,
  jobState,
  moment,
  notebookFile,
  resumedLine,
  resumeWords,
  rowLine,
  whyNoError
} from './texts';

const trans = nullTranslator.load('');

it('counts hours as people write them', () => {
  expect(formatHours(768)).toBe('768');
  expect(formatHours(4300)).toBe('4,300');
  expect(formatHours(0.54)).toBe('0.5');
  const budget = { unit: 'GPU', left_hours: 4300, asked_hours: 768 };
  expect(budgetWords(budget as Parameters<typeof budgetWords>[0], trans)).toBe(
    'At most 768 of the 4,300 GPU-hours left'
  );
});

it('says the day where it is not today', () => {
  const now = new Date(2026, 2, 2, 14, 0).getTime();
  const at = new Date(2026, 2, 2, 8, 45).getTime() / 1000;
  expect(moment(at, now)).not.toContain('2026');
  expect(moment(at, now)).toMatch(/8:45/);
  expect(moment(at - 86400, now)).toContain('2026');
});

it('tells a cancelled job from one that waits by its shape', () => {
  const summary = { code: '', values: {}, text: '' };
  const job = {
    metrics: { verdicts: [] },
    reason: null,
    summary
  } as unknown as Job;
  const glyphs = (['queued', 'cancelled', 'failed', 'succeeded'] as const).map(
    state => jobGlyph({ ...job, state })
  );
  expect(new Set(glyphs).size).toBe(4);
});

it('calls a job paused whose ranks stand in the debugger', () => {
  const job = {
    state: 'running',
    summary: { code: 'paused', values: {}, text: 'Paused on 2 ranks.' },
    metrics: { verdicts: [] },
    ranks: [{ step: 12 }],
    progress: [{ phase: 'cells', done: 3, total: 5 }]
  } as unknown as Job;
  expect(jobState(job, trans)).toBe('Paused');
  expect(jobGlyph(job)).toBe('paused');
  expect(jobLine(job, trans)).toBe('Paused on 2 ranks.');
});

it('calls a job that its sweep has ended as the sweep does, not cancelled', () => {
  const job = (code: string): Job =>
    ({
      state: 'cancelled',
      summary: { code, values: {}, text: '' }
    }) as unknown as Job;
  const said = ['job_cancelled', 'job_pruned', 'job_stopped'].map(code => [
    jobState(job(code), trans),
    jobGlyph(job(code))
  ]);
  expect(said).toEqual([
    ['Cancelled', 'cancelled'],
    ['Stopped early', 'cancelled'],
    ['Stopped', 'interrupted']
  ]);
});

it('says why there is no first error to go to, also of a job that was cancelled', () => {
  const error = { rank: 1 } as Job['error'];
  const why = (job: Partial<Job>): string | null =>
    whyNoError(job as Job, trans);
  expect(why({ state: 'failed', error })).toBeNull();
  const ended = (code: string): string | null =>
    why({
      state: 'cancelled',
      error,
      summary: { code, values: {}, text: '' }
    });
  expect(ended('job_cancelled')).toContain('was cancelled');
  expect(ended('job_pruned')).toBe(
    'The sweep stopped the job; no rank failed.'
  );
  expect(why({ state: 'succeeded', error: null })).toBe('No rank has failed.');
});

it('tells jobs of one name apart: when each was submitted, and which goes on with which', () => {
  const at = new Date(2026, 2, 2, 8, 45).getTime() / 1000;
  const job = (id: string, name: string, parent: string | null = null): Job =>
    ({
      id,
      name,
      parent,
      state: 'succeeded',
      created_at: at,
      progress: [],
      ranks: []
    }) as unknown as Job;
  const all = [job('a', 'job'), job('b', 'job', 'a'), job('c', 'other', 'a')];
  const lines = all.map(j => rowLine(j, all, trans));
  expect(lines[0]).toMatch(/^Submitted .*8:45.* · The executed notebook/);
  expect(lines[1]).toMatch(
    /^Resumes the job of .*8:45.* · The executed notebook/
  );
  expect(lines[2]).toBe('The executed notebook is ready');
  // where a column says when
  const beside = all.map(j => resumedLine(j, all, trans));
  expect(beside).toEqual([lines[2], lines[1], lines[2]]);
});

it('names the file of a notebook, never that of another of its name', () => {
  const of = { notebook: 'a.ipynb', source: '/home/ada/jobs/a.ipynb' };
  expect(notebookFile({ ...of, notebook_path: 'jobs/a.ipynb' })).toBe(
    'jobs/a.ipynb'
  );
  expect(notebookFile({ ...of, notebook_path: null })).toBe(of.source);
});

it('promises one thing for a job on its page and on that of its sweep', () => {
  const label = (begins_again: boolean, step: number | null): string[] =>
    [false, true].map(
      best =>
        resumeWords({ begins_again, checkpoint_step: step }, trans, best).label
    );
  expect(label(false, 2)).toEqual([
    'Resume from step 2',
    'Resume from its checkpoint, step 2'
  ]);
  expect(label(true, 2)).toEqual([
    'Run again from the beginning',
    'Run the best again from the beginning'
  ]);
});
