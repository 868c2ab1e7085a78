import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { activeSentence } from './activeJobs';

const trans = nullTranslator.load('');

it('says how many are active, a sweep as one', () => {
  const text = (jobs: number, sweeps: number): string =>
    activeSentence({ jobs, sweeps }, trans);
  expect(text(3, 0)).toBe('3 jobs are active.');
  expect(text(0, 1)).toBe('1 sweep is active.');
  expect(text(1, 1)).toBe('1 job and 1 sweep are active.');
});
