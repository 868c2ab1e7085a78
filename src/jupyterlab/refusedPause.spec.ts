import { IDebugger } from '@jupyterlab/debugger';
import { Signal } from '@lumino/signaling';
import { expect, it } from 'vitest';

import { DebuggerSession } from './debuggerSession';
import { sayRefusedPauses } from './refusedPause';

it("says why JupyterLab's pause does nothing, once", async () => {
  const WHY = 'No cell is running: there is nothing to pause.';
  let refuses = true;
  const session = {
    sendRequest: async (command: string) =>
      refuses ? { success: false, message: WHY, command } : { success: true }
  } as unknown as IDebugger.ISession;
  const requests = new DebuggerSession(
    { session, sessionChanged: new Signal({}) } as unknown as IDebugger,
    () => undefined
  );
  const said: string[] = [];
  requests.around('conditions', (send, ...asked) => send(...asked));
  sayRefusedPauses(requests, why => said.push(why));
  const answer = await session.sendRequest('pause', { threadId: 1 });
  expect(answer.success).toBe(false);
  expect(said).toEqual([WHY]);
  await session.sendRequest('next', { threadId: 1 });
  refuses = false;
  await session.sendRequest('pause', { threadId: 1 });
  expect(said).toEqual([WHY]);
});
