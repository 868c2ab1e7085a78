import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { executedPath, whyNoJob } from './executedDrive';

it('tells an executed notebook from its own, in any alphabet', () => {
  const job = { id: 'abc', name: 'Größe 5', notebook: 'books/Größe π.ipynb' };
  expect(executedPath(job)).toBe('dtrain-jobs:abc/Größe π (Größe 5).ipynb');
});

it('is not submitted itself, with a reason', () => {
  const trans = nullTranslator.load('x');
  const job = { id: 'abc', name: 'night', notebook: 'a.ipynb' };
  expect(whyNoJob(executedPath(job), trans)).toMatch(/^A job wrote/);
  expect(whyNoJob('a.ipynb', trans)).toBeNull();
  expect(whyNoJob(null, trans)).toBeNull();
});
