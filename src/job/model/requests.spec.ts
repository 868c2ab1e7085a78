// alone: fake timers
import { ServerConnection } from '@jupyterlab/services';
import { afterEach, expect, it, vi } from 'vitest';

import { JobRequests } from './requests';

afterEach(() => {
  vi.useRealTimers();
});

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

it('asks ahead once: the list that opens meanwhile gets that answer, and later ones ask again', async () => {
  let answered = 0;
  const fetch = vi.fn(
    async () => new Response(JSON.stringify([{ id: `${++answered}` }]))
  );
  const jobs = new JobRequests({
    ...ServerConnection.makeSettings(),
    fetch
  });
  jobs.askAhead();
  expect((await jobs.all()).map(j => j.id)).toEqual(['1']);
  expect(fetch).toHaveBeenCalledTimes(1);
  expect((await jobs.all()).map(j => j.id)).toEqual(['2']);
  fetch.mockRejectedValueOnce(new TypeError('Failed to fetch'));
  jobs.askAhead();
  await expect(jobs.all()).rejects.toThrow('Failed to fetch');
});

it('asks again where the answer that was asked for ahead has grown old, or was an error', async () => {
  vi.useFakeTimers({ now: 0, toFake: ['Date'] });
  let answered = 0;
  const fetch = vi.fn(
    async () => new Response(JSON.stringify([{ id: `${++answered}` }]))
  );
  const jobs = new JobRequests({
    ...ServerConnection.makeSettings(),
    fetch
  });
  const came = (): Promise<void> =>
    vi.waitFor(() => expect(jobs.lastAnswer[0]?.id).toBe(`${answered}`));
  jobs.askAhead();
  await came();
  vi.setSystemTime(10_000); // the list was in a background tab
  expect((await jobs.all()).map(j => j.id)).toEqual(['2']);
  fetch.mockRejectedValueOnce(new TypeError('Failed to fetch'));
  jobs.askAhead();
  await new Promise(resolve => setTimeout(resolve));
  expect((await jobs.all()).map(j => j.id)).toEqual(['3']);
});
