import { IDebugger } from '@jupyterlab/debugger';
import { Session } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { DebugModel } from './model';

/** The part of JupyterLab's debugger that the model uses. */
function fake(
  answer: (command: string, args: Record<string, unknown>) => object = () => ({
    success: true
  })
): {
  debug: IDebugger;
  asked: string[];
  title: (name: string) => void;
  say: (on: boolean, ranks?: object[], focus?: number | null) => void;
  session: { isStarted: boolean; connection: Session.ISessionConnection };
  status: (now: string) => void;
  close: () => void;
} {
  const asked: string[] = [];
  const owner = {};
  const title = new Signal<unknown, string>(owner);
  const message = new Signal<unknown, object>(owner);
  const statusChanged = new Signal<unknown, string>(owner);
  const disposed = new Signal<unknown, void>(owner);
  const session = {
    isStarted: false,
    connection: {
      statusChanged,
      disposed
    } as unknown as Session.ISessionConnection,
    sendRequest: async (
      command: string,
      args: Record<string, unknown>
    ): Promise<object> => {
      asked.push(command);
      return answer(command, args);
    }
  };
  const debug = {
    session,
    eventMessage: message,
    sessionChanged: new Signal(owner),
    model: { titleChanged: title }
  } as unknown as IDebugger;
  const say = (
    on: boolean,
    ranks: object[] = [],
    focus: number | null = null
  ): void =>
    message.emit({ event: 'dtrain/state', body: { on, ranks, focus } });
  return {
    debug,
    asked,
    session,
    say,
    title: name => title.emit(name),
    status: now => statusChanged.emit(now),
    close: () => disposed.emit()
  };
}

it('asks for the ranks of a notebook that was debugged before the page was loaded', () => {
  const { debug, asked, title, session } = fake();
  new DebugModel(debug);
  title('-');
  expect(asked).toEqual([]);
  session.isStarted = true;
  title('train.ipynb');
  title('other.ipynb');
  expect(asked).toEqual(['dtrain/state', 'dtrain/state']);
});

it('still says that the debugger is off once it has been switched off', () => {
  const { debug, title, session, say } = fake();
  const model = new DebugModel(debug);
  session.isStarted = true;
  say(true);
  session.isStarted = false;
  say(false);
  title('-');
  expect(model.view?.on).toBe(false);
});

it('says nothing of ranks once their notebook is closed', () => {
  const { debug, asked, title, session, say } = fake();
  const model = new DebugModel(debug);
  session.isStarted = true;
  say(true, ranks(IDLE));
  session.isStarted = false;
  title('-');
  expect(model.view).toBeNull();
  // opened again
  session.isStarted = true;
  title('train.ipynb');
  expect(asked).toEqual(['dtrain/state']);
});

it('says no longer that the debugger is off once another notebook is shown, or its own is closed', () => {
  const { debug, session, say, close } = fake();
  const model = new DebugModel(debug);
  say(false);
  model.follow(session.connection);
  expect(model.view?.on).toBe(false);
  model.follow({} as Session.ISessionConnection);
  expect(model.view).toBeNull();
  say(false);
  close();
  expect(model.view).toBeNull();
});

it('says of no rank that it is debugged once the kernel restarts', () => {
  const { debug, session, say, status } = fake();
  const model = new DebugModel(debug);
  session.isStarted = true;
  say(true, ranks(IDLE));
  say(true, ranks(PAUSED));
  status('busy');
  expect(model.view?.on).toBe(true);
  status('restarting');
  expect(model.view).toBeNull();
  expect(model.isStarted).toBe(true);
});

const IDLE = { phase: 'idle', place: null };
const PAUSED = { phase: 'paused', place: { file: 'a.py', line: 3 } };
const ranks = (...them: object[]): object[] =>
  them.map((one, rank) => ({ rank, attached: true, ...one }));

/** Answers requests as a debugger in which the given ranks are paused, each with a variable `x`. */
function standing(
  ...paused: number[]
): (command: string, args: Record<string, unknown>) => object {
  return (command, args) => {
    if (
      command === 'stackTrace' &&
      !paused.includes(Number(args.threadId) - 1001)
    ) {
      return { success: false, message: 'It is not paused.' };
    }
    const bodies: Record<string, object> = {
      stackTrace: { stackFrames: [{ id: 7 }] },
      scopes: { scopes: [{ variablesReference: 9 }] },
      variables: { variables: [{ name: 'x', type: 'int' }] },
      'dtrain/across': {
        expression: 'x',
        same: true,
        running: [],
        comparable: true,
        groups: [{ ranks: [0, 1], text: '1', error: false }]
      }
    };
    return { success: true, body: bodies[command] };
  };
}

it('compares the variables of a paused rank while an idle one is looked at', async () => {
  const { debug, say } = fake(standing(1));
  const model = new DebugModel(debug);
  say(true, ranks(IDLE, PAUSED), 0);
  await model.compareVariables();
  expect(model.differences).toMatchObject({ same: 1, left: 0 });
  say(true, ranks(IDLE, IDLE), 0);
  expect(model.differences).toBeNull();
  await model.compareVariables();
  expect(model.differences).toBeNull();
});

it('offers to compare variables again where it could not', async () => {
  const { debug, say } = fake(standing());
  const model = new DebugModel(debug);
  say(true, ranks(PAUSED), 0);
  await expect(model.compareVariables()).rejects.toThrow('not paused');
  expect(model.differences).toBeNull();
});

it('keeps what a newer comparison found where an older one fails late', async () => {
  let fail = (): void => undefined;
  let first = true;
  const answer = standing(0);
  const { debug, say } = fake((command, args) => {
    if (command === 'stackTrace' && first) {
      first = false;
      return new Promise<object>(resolve => {
        fail = () => resolve({ success: false, message: 'It has moved.' });
      });
    }
    return answer(command, args);
  });
  const model = new DebugModel(debug);
  say(true, ranks(PAUSED), 0);
  const older = model.compareVariables();
  await model.compareVariables();
  fail();
  await older;
  expect(model.differences).toMatchObject({ same: 1, left: 0 });
});

it('compares again, of the rank that stands, once another one is looked at', async () => {
  const { debug, say, asked } = fake(standing(1));
  const model = new DebugModel(debug);
  say(true, ranks(IDLE, PAUSED), 1);
  await model.compareVariables();
  say(true, ranks(IDLE, PAUSED), 0);
  await vi.waitFor(() =>
    expect(asked.filter(one => one === 'dtrain/across')).toHaveLength(2)
  );
  await vi.waitFor(() => expect(model.differences?.left).toBe(0));
});

it('evaluates expressions again when ranks run on or have become idle', async () => {
  const { debug, say, asked } = fake(standing(1));
  const model = new DebugModel(debug);
  const evaluations = (): number =>
    asked.filter(one => one === 'dtrain/across').length;
  const RUNNING = { phase: 'running', place: null };
  say(true, ranks(IDLE, PAUSED));
  await model.compare('x');
  expect(evaluations()).toBe(1);
  say(true, ranks(RUNNING, RUNNING));
  await vi.waitFor(() => expect(evaluations()).toBe(2));
  say(true, ranks(IDLE, IDLE));
  await vi.waitFor(() => expect(evaluations()).toBe(3));
});

it('refuses an expression that is not valid Python, and keeps none of it', async () => {
  const message = 'Whatever it says.';
  let code: string | undefined = 'unreadable_expression';
  const { debug, say } = fake(() => ({ success: false, message, code }));
  const model = new DebugModel(debug);
  say(true, ranks(IDLE));
  await expect(model.compare('rank*')).rejects.toThrow(message);
  expect(model.rows).toEqual([]);
  code = undefined;
  await model.compare('rank'); // a refusal without a code may be temporary: the row stays
  expect(model.rows.map(({ row }) => row?.text)).toEqual([message]);
});
