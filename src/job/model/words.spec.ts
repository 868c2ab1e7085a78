import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { Job } from '../../tokens';
import {
  budgetWords,
  formatHours,
  jobGlyph,
  moment,
  whyNoError
} from './words';

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
  const job = { metrics: { verdicts: [] }, reason: null } as unknown as Job;
  const glyphs = (['queued', 'cancelled', 'failed', 'succeeded'] as const).map(
    state => jobGlyph({ ...job, state })
  );
  expect(new Set(glyphs).size).toBe(4);
});

it('says why there is no first error to go to, also of a job that was cancelled', () => {
  const error = { rank: 1 } as Job['error'];
  const why = (job: Partial<Job>): string | null =>
    whyNoError(job as Job, trans);
  expect(why({ state: 'failed', error })).toBeNull();
  expect(why({ state: 'cancelled', error })).toContain('was cancelled');
  expect(why({ state: 'succeeded', error: null })).toBe('No rank has failed.');
});
