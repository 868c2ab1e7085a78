// alone: fake timers
import { ServerConnection } from '@jupyterlab/services';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { record } from '../../testing/record';
import { LeftRecords } from './leftRecords';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** The records of a server that answers with these, one after another; the last one to all further requests. */
function answering(answers: (() => Promise<Response>)[]): {
  records: LeftRecords;
  asked: () => number;
  changed: ReturnType<typeof vi.fn>;
} {
  let asked = 0;
  const settings = ServerConnection.makeSettings({
    baseUrl: 'http://localhost/',
    fetch: () => answers[Math.min(asked++, answers.length - 1)]()
  });
  const records = new LeftRecords(settings);
  const changed = vi.fn();
  records.changed.connect(() => {
    changed();
    records.of('c'); // as the notebooks do
  });
  return { records, asked: () => asked, changed };
}

const refused = (status: number) => (): Promise<Response> =>
  Promise.resolve(new Response('', { status }));
const left = (): Promise<Response> =>
  Promise.resolve(new Response(JSON.stringify([record()])));
const noServer = (): Promise<Response> => Promise.reject(new TypeError('gone'));

it('asks again after an error that may pass', async () => {
  const { records, asked, changed } = answering([
    refused(502),
    refused(403),
    left
  ]);
  expect(records.of('c')).toBeUndefined();
  await vi.advanceTimersByTimeAsync(10);
  expect([asked(), changed.mock.calls.length]).toEqual([1, 0]);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(records.of('c')).toEqual([record()]);
  expect([asked(), changed.mock.calls.length]).toEqual([3, 1]);
  records.dispose();
});

it('knows after a 404 that there are none', async () => {
  const { records, asked, changed } = answering([refused(404)]);
  records.of('c');
  await vi.advanceTimersByTimeAsync(120_000);
  expect(records.of('c')).toEqual([]);
  expect([asked(), changed.mock.calls.length]).toEqual([1, 1]);
  records.dispose();
});

it('asks a missing server seldom, and at once when it is back', async () => {
  const { records, asked, changed } = answering([noServer, noServer, left]);
  records.retry();
  await vi.advanceTimersByTimeAsync(10);
  expect(asked()).toBe(0);
  records.of('c');
  await vi.advanceTimersByTimeAsync(10);
  records.of('c');
  await vi.advanceTimersByTimeAsync(10);
  expect([asked(), changed.mock.calls.length]).toEqual([1, 0]);
  records.retry();
  await vi.advanceTimersByTimeAsync(10);
  expect(asked()).toBe(2);
  records.retry();
  await vi.advanceTimersByTimeAsync(10);
  expect(records.of('c')).toEqual([record()]);
  expect([asked(), changed.mock.calls.length]).toEqual([3, 1]);
  records.dispose();
});

it('reads what another cluster has left where one cannot be read', async () => {
  const { records } = answering([refused(502), left, refused(502)]);
  records.of('c');
  records.of('d');
  await vi.advanceTimersByTimeAsync(10);
  expect(records.of('c')).toBeUndefined();
  expect(records.of('d')).toEqual([record()]);
  records.dispose();
});
