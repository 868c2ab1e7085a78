import { ServerConnection } from '@jupyterlab/services';
import { nullTranslator } from '@jupyterlab/translation';
import { expect, it, vi } from 'vitest';

import { longWork } from '../../request/longWork';
import { request } from '../../request/rest';
import { signedIn } from './signin';

/** The error of a request that needs a login. */
const QUESTIONS = {
  code: 'sign_in',
  message: 'Sign in.',
  hint: '',
  details: {
    id: 'q',
    host: 'gpu-01',
    title: '',
    instructions: '',
    questions: [{ text: 'Code:', hidden: false }]
  }
};

it("signs in at the server whose answer asks for it, by the app's own connection", async () => {
  let signed = false;
  const asked: string[] = [];
  const fetch = vi.fn(async (what: RequestInfo | URL) => {
    const { pathname } = new URL((what as Request).url);
    asked.push(pathname);
    signed ||= pathname.endsWith('sign-in');
    return new Response(signed ? '[]' : JSON.stringify(QUESTIONS), {
      status: signed ? 200 : 401
    });
  });
  const settings = ServerConnection.makeSettings({
    baseUrl: 'http://127.0.0.1/lab/',
    fetch
  });
  const done = signedIn(nullTranslator.load('x'), async () => {
    await request(settings, 'GET', '/clusters');
  });
  await vi.waitFor(() =>
    document.querySelector<HTMLElement>('.jp-Dialog .jp-mod-accept')!.click()
  );
  expect(await done).toBe(true);
  const below = '/lab/dtrain-lab/';
  expect(asked).toEqual([
    `${below}clusters`,
    `${below}sign-in`,
    `${below}clusters`
  ]);
});

it('signs in also where work asks for it that went on after the answer to its request', async () => {
  const asked: string[] = [];
  const fetch = vi.fn(async (what: RequestInfo | URL) => {
    asked.push(new URL((what as Request).url).pathname);
    return new Response('{}');
  });
  const settings = ServerConnection.makeSettings({
    baseUrl: 'http://127.0.0.1/lab/',
    fetch
  });
  interface IWork {
    id: string;
    state: 'running' | 'done' | 'failed';
    error: typeof QUESTIONS | null;
  }
  const begun: IWork = { id: 'w', state: 'running', error: null };
  const states: IWork[] = [
    { ...begun, state: 'failed', error: QUESTIONS },
    { ...begun, state: 'done' }
  ];
  const done = signedIn(nullTranslator.load('x'), async () => {
    await longWork<IWork, object>({
      settings,
      answer: Promise.resolve(begun),
      again: async () => states.shift()!,
      resultOf: ({ state }) => (state === 'done' ? {} : null),
      trans: nullTranslator.load('x')
    });
  });
  await vi.waitFor(() =>
    document.querySelector<HTMLElement>('.jp-Dialog .jp-mod-accept')!.click()
  );
  expect(await done).toBe(true);
  expect(asked).toEqual(['/lab/dtrain-lab/sign-in']);
});
