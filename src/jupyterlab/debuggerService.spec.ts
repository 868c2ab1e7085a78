import { Debugger, IDebugger } from '@jupyterlab/debugger';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { DebuggerService } from './debuggerService';
import { DebuggerSession } from './debuggerSession';

const never = (name: string): void => {
  throw new Error(`JupyterLab has ${name}`);
};

it('queues a change of breakpoints, then sends edited cells, then adds conditions', async () => {
  const debug = new Debugger.Service({ config: new Debugger.Config() });
  const said: string[] = [];
  const service = new DebuggerService(debug, never);
  for (const name of ['conditions', 'queue', 'edits'] as const) {
    service.updates.add(name, async (next, ...args) => {
      said.push(name);
      await next(...args);
    });
  }
  await debug.updateBreakpoints('', []); // nothing is set: it has no session
  expect(said).toEqual(['queue', 'edits', 'conditions']);
});

it('gives JupyterLab its methods back', () => {
  const debug = new Debugger.Service({ config: new Debugger.Config() });
  const own = Object.keys(debug);
  const service = new DebuggerService(debug, never);
  expect(Object.keys(debug)).toHaveLength(own.length + 3);
  service.dispose();
  expect(Object.keys(debug)).toEqual(own);
});

it('names what JupyterLab lacks', () => {
  const report = vi.fn();
  const service = new DebuggerService({}, report);
  service.announceStart();
  expect(report.mock.calls.flat()).toEqual([
    'IDebugger.updateBreakpoints',
    'IDebugger.restoreState',
    'IDebugger.pauseOnExceptions',
    'IDebugger.eventMessage'
  ]);
});

it('makes views read the capabilities of the session again', () => {
  const debug = new Debugger.Service({ config: new Debugger.Config() });
  const heard: string[] = [];
  debug.eventMessage.connect((_, { event }) => heard.push(event));
  new DebuggerService(debug, never).announceStart();
  expect(heard).toEqual(['initialized']);
});

it('follows the session, and gives the one before its method back', async () => {
  const sent: string[] = [];
  const made = () => ({
    sendRequest: async (command: string) => void sent.push(command)
  });
  const [first, second] = [made(), made()];
  const { sendRequest } = first;
  const debug = { session: first as object | null };
  const sessionChanged = new Signal<object, unknown>(debug);
  const its = Object.assign(debug, { sessionChanged }) as unknown as IDebugger;
  const requests = new DebuggerSession(its, never);
  requests.around('conditions', (send, command, args) =>
    send(`our ${command}`, args)
  );
  await first.sendRequest('a');
  debug.session = second;
  sessionChanged.emit(null);
  await first.sendRequest('b');
  await second.sendRequest('c');
  expect(sent).toEqual(['our a', 'b', 'our c']);
  expect(first.sendRequest).toBe(sendRequest);
  requests.dispose();
  await second.sendRequest('d');
  debug.session = first;
  sessionChanged.emit(null);
  await first.sendRequest('e');
  expect(sent.slice(3)).toEqual(['d', 'e']);
});
