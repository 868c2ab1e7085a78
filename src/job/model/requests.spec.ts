import { ServerConnection } from '@jupyterlab/services';
import { expect, it, vi } from 'vitest';

import { JobRequests } from './requests';

it('keeps the last answer about all jobs, so that a list that is opened again has rows', async () => {
  const answer = [{ id: 'a' }, { id: 'b' }];
  const fetch = vi.fn(async () => new Response(JSON.stringify(answer)));
  const jobs = new JobRequests({
    ...ServerConnection.makeSettings(),
    fetch
  });
  expect(jobs.lastAnswer).toEqual([]);
  await jobs.all();
  expect(jobs.lastAnswer.map(j => j.id)).toEqual(['a', 'b']);
});
