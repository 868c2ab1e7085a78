import { expect, it } from 'vitest';

import { executedPath } from './executedDrive';

it('tells an executed notebook from its own, in any alphabet', () => {
  const job = { id: 'abc', name: 'Größe 5', notebook: 'books/Größe π.ipynb' };
  expect(executedPath(job)).toBe('dtrain-jobs:abc/Größe π (Größe 5).ipynb');
});
