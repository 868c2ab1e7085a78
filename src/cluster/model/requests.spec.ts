import { ServerConnection } from '@jupyterlab/services';
import { nullTranslator, TranslationBundle } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { RequestError } from '../../request/rest';
import { ClusterRequests } from './requests';

it('says in the language of the page that the result of a measurement is gone, and what to do', async () => {
  const settings = ServerConnection.makeSettings({
    fetch: async what => {
      const begins = (what as Request).method === 'POST';
      const answer = begins ? { id: 'm', state: 'running', error: null } : [];
      return new Response(JSON.stringify(answer));
    }
  });
  const trans: TranslationBundle = {
    ...nullTranslator.load('x'),
    __: text => `translated: ${text}`
  };
  const actions = new ClusterRequests(settings, trans, () => undefined);
  const error = await actions.diagnose('c1').catch((e: unknown) => e);
  expect(error).toBeInstanceOf(RequestError);
  const { code, message, hint } = (error as RequestError).body;
  expect(code).toBe('measurement_gone');
  expect(message).toBe('translated: The result of this measurement is gone.');
  expect(hint).toContain('translated: The same has been measured again');
});
