import { IDebugger } from '@jupyterlab/debugger';
import { Signal } from '@lumino/signaling';
import { expect, it } from 'vitest';

import { DebuggerService } from '../jupyterlab/debuggerService';
import { DebuggerSession } from '../jupyterlab/debuggerSession';
import { Conditions } from './conditions';

const OLD = '/tmp/ipykernel_1/7.py';
const NEW = '/tmp/ipykernel_2/7.py';
const POINT = { path: OLD, line: 5, condition: 'rank == 1', hit: '', log: '' };

/** The part of JupyterLab's debugger service that `Conditions` uses. */
function made(hashed = false) {
  const texts: string[] = [];
  const sent: { command: string; args: object }[] = [];
  const message = new Signal<object, object>({});
  const session = {
    connection: { id: 'a' },
    sendRequest: async (command: string, args: object) =>
      void sent.push({ command, args })
  };
  let lines: number[] = [5];
  const updated: number[][] = [];
  const debug = {
    session,
    eventMessage: message,
    sessionChanged: new Signal({}),
    getCodeId: (text: string) =>
      hashed && text.length !== 13 ? `/tmp/ipykernel_2/${text.length}.py` : NEW,
    model: {
      breakpoints: { getBreakpoints: () => lines.map(line => ({ line })) }
    },
    updateBreakpoints: async (_: string, points: { line: number }[]) => {
      lines = points.map(point => point.line);
      updated.push(lines);
    }
  };
  const service = debug as unknown as IDebugger;
  const ignore = (): void => undefined;
  const conditions = new Conditions(
    service,
    new DebuggerService(service, ignore),
    new DebuggerSession(service, ignore),
    () => texts
  );
  const told = (...points: object[]): void =>
    message.emit({ event: 'dtrain/state', body: { on: true, points } });
  /** The breakpoint that a kernel receives for line 5. */
  const given = async (path = NEW): Promise<object> => {
    const args = { source: { path }, breakpoints: [{ line: 5 }] };
    await session.sendRequest('setBreakpoints', args);
    const last = sent.at(-1)!.args as { breakpoints: object[] };
    return last.breakpoints[0];
  };
  return { debug, session, message, told, sent, given, texts, conditions };
}

const GIVEN = {
  line: 5,
  condition: 'rank == 1',
  hitCondition: '',
  logMessage: ''
};

it('gives a new kernel the conditions that the one before had', async () => {
  const { told, given, message, sent } = made();
  expect(await given()).toEqual({ line: 5 });
  told(POINT);
  expect(await given()).toEqual(GIVEN);
  // the kernel received its breakpoints before it had loaded our extension
  message.emit({ event: 'dtrain/conditions', body: {} });
  await Promise.resolve();
  expect(sent.at(-1)).toEqual({
    command: 'dtrain/conditions',
    args: { points: [{ path: '7.py', ...GIVEN }] }
  });
  message.emit({ event: 'dtrain/state', body: { on: false, points: [] } });
  expect(await given()).toEqual(GIVEN);
  told({ ...POINT, condition: '' });
  expect(await given()).toEqual({ line: 5 });
});

it('knows what a breakpoint asks while the kernel reports none, such as a new one', () => {
  const { told, session, conditions } = made();
  told({ ...POINT, log: 'x' });
  const kept = { ...POINT, path: NEW, log: 'x', error: '' };
  expect(conditions.given(NEW, 5)).toEqual(kept);
  expect(conditions.given(NEW, 6)).toBeNull();
  session.connection.id = 'another notebook';
  expect(conditions.given(NEW, 5)).toBeNull();
});

it('keeps the condition of a breakpoint in a cell that is edited, at the line with its text', async () => {
  const { told, debug, sent, session, texts } = made(true);
  texts.push('a\nb\nc\nd\nif x:', 'other\nif x:');
  told(POINT);
  // a new cell that contains the same line doesn't take over the condition
  await debug.updateBreakpoints('other\nif x:', [{ line: 2 }]);
  texts[0] = 'a\nnew\nb\nc\nd\nif x:';
  await debug.updateBreakpoints(texts[0], [{ line: 6 }]);
  const cleared = { source: { path: OLD }, breakpoints: [] };
  expect(sent.at(-1)).toEqual({ command: 'setBreakpoints', args: cleared });
  const path = debug.getCodeId(texts[0]);
  const args = { source: { path }, breakpoints: [{ line: 6 }] };
  await session.sendRequest('setBreakpoints', args);
  const last = sent.at(-1)!.args as { breakpoints: object[] };
  expect(last.breakpoints).toEqual([{ ...GIVEN, line: 6 }]);
});

it('gives it, too, where the cell is run before JupyterLab knows its new text', () => {
  const { told, texts, conditions } = made(true);
  texts.push('a\nb\nc\nd\nif x:');
  told(POINT);
  texts[0] = 'a\nnew\nb\nc\nd\nif x:';
  const asking = [{ line: 3 }, { ...GIVEN, line: 6 }];
  expect(conditions.asking(texts[0], [3, 6])).toEqual(asking);
});

it('forgets the condition of a breakpoint that is removed and set anew', async () => {
  const { told, given, debug, session } = made();
  const set = (...lines: number[]): Promise<void> =>
    debug.updateBreakpoints(
      'text',
      lines.map(line => ({ line }))
    );
  told(POINT);
  session.connection.id = 'another notebook';
  expect(await given()).toEqual({ line: 5 });
  session.connection.id = 'a';
  await set(5, 7);
  expect(await given()).toEqual(GIVEN);
  await set(7);
  await set(5, 7);
  expect(await given()).toEqual({ line: 5 });
});
