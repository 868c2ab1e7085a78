import { ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { longWork } from './longWork';
import { RequestError } from './rest';

interface IMeasurement {
  id: string;
  state: 'running' | 'done' | 'failed';
  error: RequestError['body'] | null;
  share: { value: number } | null;
}

const running: IMeasurement = {
  id: 'm',
  state: 'running',
  error: null,
  share: null
};

/** The result of a request that is answered so, and of the states of its work. */
function resultOf(
  answer: object,
  ...states: IMeasurement[]
): Promise<{ value: number }> {
  return longWork<IMeasurement, { value: number }>({
    settings: ServerConnection.makeSettings(),
    answer: Promise.resolve(answer as IMeasurement | { value: number }),
    again: async id => {
      expect(id).toBe('m');
      return states.shift()!;
    },
    resultOf: work => work.share,
    trans: {
      __: (text: string) => text.toUpperCase()
    } as unknown as TranslationBundle
  });
}

it('returns a result that comes with the answer, or later', async () => {
  expect(await resultOf({ value: 1 })).toEqual({ value: 1 });
  const done: IMeasurement = { ...running, state: 'done', share: { value: 2 } };
  expect(await resultOf(running, running, done)).toEqual({ value: 2 });
});

it('fails as the work has', async () => {
  const error = { code: 'x', message: 'A cell runs.', hint: '', details: {} };
  const failed: IMeasurement = { ...running, state: 'failed', error };
  await expect(resultOf(running, failed)).rejects.toThrow('A cell runs.');
  const done: IMeasurement = { ...running, state: 'done' };
  await expect(resultOf(running, done)).rejects.toThrow(
    'THE SERVER HAS NO RESULT.'
  );
});
