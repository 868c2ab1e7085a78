import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { Job } from '../../tokens';
import { jobGlyph, jobState } from './states';

const trans = nullTranslator.load('');

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
