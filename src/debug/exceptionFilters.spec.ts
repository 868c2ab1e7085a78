import { IDebugger } from '@jupyterlab/debugger';
import { Session } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { DebuggerService } from '../jupyterlab/debuggerService';
import { ExceptionFilters } from './exceptionFilters';

/** JupyterLab after a reload: the kernel is debugged, and the session was not started by this page. */
function made(kept: string[] | null) {
  const told: unknown[] = [];
  const session = {
    connection: {} as Session.ISessionConnection,
    isStarted: true,
    exceptionBreakpointFilters: [] as { filter: string; label: string }[],
    start: vi.fn(async () => {
      session.exceptionBreakpointFilters = [{ filter: 'raised', label: 'R' }];
    }),
    sendRequest: vi.fn(async () =>
      kept
        ? { success: true, body: { filters: kept } }
        : { success: false, message: 'unknown command' }
    )
  };
  const eventMessage = new Signal<object, { event: string }>({});
  eventMessage.connect((_, { event }) => told.push(event));
  const debug = {
    session,
    eventMessage,
    pauseOnExceptions: async (filters: string[]) => void told.push(filters),
    restoreState: async () => debug.pauseOnExceptions([])
  };
  const sidebar = { isVisible: true, node: document.createElement('div') };
  const its = debug as unknown as IDebugger;
  const service = new DebuggerService(its, () => undefined);
  new ExceptionFilters(its, service, sidebar);
  return { debug, session, told };
}

it('restores the menu and the choice whenever the session has come to a kernel', async () => {
  const { debug, session, told } = made(['raised']);
  await debug.restoreState();
  expect(told).toEqual(['initialized', ['raised']]);
  await debug.pauseOnExceptions([]); // as a user does
  expect(told.at(-1)).toEqual([]);
  session.connection = {} as Session.ISessionConnection;
  await debug.restoreState();
  expect(told.at(-1)).toEqual(['raised']);
  expect(session.start).toHaveBeenCalledTimes(1);
});

it('sets nothing in the kernel whose turn came while the first one answered', async () => {
  const { debug, session, told } = made(['raised']);
  const first = session.connection;
  const restored = debug.restoreState();
  session.connection = {} as Session.ISessionConnection;
  await restored;
  expect(told).toEqual([]);
  expect(session.start).not.toHaveBeenCalled();
  session.connection = first;
  await debug.restoreState();
  expect(told).toEqual(['initialized', ['raised']]);
});

it('leaves a kernel without ranks, and one that is not debugged, as they are', async () => {
  const plain = made(null);
  await plain.debug.restoreState();
  expect(plain.told).toEqual([[]]);
  expect(plain.session.start).not.toHaveBeenCalled();
  const off = made(['raised']);
  off.session.isStarted = false;
  await off.debug.restoreState();
  expect(off.told).toEqual([[]]);
  expect(off.session.sendRequest).not.toHaveBeenCalled();
});
