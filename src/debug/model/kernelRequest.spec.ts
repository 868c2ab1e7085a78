import { IDebugger } from '@jupyterlab/debugger';
import { expect, it } from 'vitest';

import { ask } from './kernelRequest';

it('makes an error of a refusal, except that of a pause, which is said for every button', async () => {
  const refusal = { success: false, message: 'No cell is running.' };
  const session = {
    sendRequest: async () => refusal
  } as unknown as IDebugger.ISession;
  await expect(ask(session, 'dtrain/mode', {})).rejects.toThrow('No cell');
  expect(await ask(session, 'pause', { threadId: 1 })).toBe(refusal);
});
