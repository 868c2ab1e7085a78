import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { Job } from '../../tokens';
import { formatClock } from '../../metrics/format';
import {
  distinctName,
  moment,
  notebookFile,
  resumeWords,
  tabOf,
  timedJob,
  whyNoError
} from './texts';

const trans = nullTranslator.load('');

it('says the day where it is not today', () => {
  const now = new Date(2026, 2, 2, 14, 0).getTime();
  const at = new Date(2026, 2, 2, 8, 45).getTime() / 1000;
  expect(moment(at, now)).not.toContain('2026');
  expect(moment(at, now)).toMatch(/8:45/);
  expect(moment(at - 86400, now)).toContain('2026');
});

it('names a tab by the time where other jobs have its name, by the second in the same minute', () => {
  const at = (time: number, name = 'reg'): Job =>
    ({ id: `${name}${time}`, name, created_at: time }) as Job;
  const [first, second, near] = [at(60), at(600), at(610)];
  const tab = (job: Job, ...others: Job[]): string =>
    tabOf(job, job.name, `Job: ${job.name}`, [job, ...others], trans);
  expect(tab(first, at(600, 'other'))).toBe('Job: reg');
  expect(tab(first, second)).toBe(`reg, ${moment(60)}`);
  expect(tab(second, near)).toBe(`reg, ${moment(600, undefined, true)}`);
  expect(tab(first, second, near)).toBe(`reg, ${moment(60)}`);
  // at the same time of another day: as in dialogs
  const later = at(60 + 86_400);
  expect(tab(later, first)).toBe(distinctName(later, [later, first], trans));
  expect(tab(later, first)).toBe(`reg, ${moment(60 + 86_400)}`);
  expect(timedJob(first, trans)).toBe(`reg (${moment(60)})`);
  // of an earlier version: it is not known when
  expect(timedJob({ name: 'reg', created_at: 0 }, trans)).toBe('reg');
});

it('calls one of several of the same name by its time, in the same second by its id', () => {
  const now = Math.floor(Date.now() / 1000);
  const at = (id: string, created_at: number, name = 'long'): Job =>
    ({ id, name, created_at }) as Job;
  const job = at('a', now);
  const called = (...others: Job[]): string =>
    distinctName(job, [job, ...others], trans);
  expect(called()).toBe('long');
  expect(called(at('b', now, 'train'))).toBe('long');
  expect(called(at('b', now - 86_400))).toBe(
    `long, ${formatClock(now * 1000)}`
  );
  expect(called(at('b', now))).toBe(
    `long, ${formatClock(now * 1000, true)} (a)`
  );
  const old = at('c', now - 86_400 * 3);
  expect(distinctName(old, [job, old], trans)).toBe(
    `long, ${moment(now - 86_400 * 3)}`
  );
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
