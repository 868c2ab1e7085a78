// alone: fake timers
import { IDebugger } from '@jupyterlab/debugger';
import { NotebookPanel } from '@jupyterlab/notebook';
import { Session } from '@jupyterlab/services';
import { ToolbarButton } from '@jupyterlab/ui-components';
import { expect, it, vi } from 'vitest';

import { BugPresses } from '../jupyterlab/debugButton';
import { queriesOf, Query } from '../jupyterlab/debuggerHandler';
import { DebuggerService } from '../jupyterlab/debuggerService';
import { SessionQueue } from './sessionQueue';

/** JupyterLab's handler: connects the session to a notebook's kernel, and back if that isn't debugged. */
function made(debugged: string[], front: string) {
  const bug = new ToolbarButton(); // of a notebook that was opened just now: it is not drawn yet
  const toolbar = { children: () => [bug], names: () => ['debugger-icon'] };
  const panels: Record<string, NotebookPanel> = {};
  const panel = (name: string): NotebookPanel =>
    (panels[name] ??= {
      id: name,
      isDisposed: false,
      toolbar
    } as unknown as NotebookPanel);
  const connections: Record<string, Session.ISessionConnection> = {};
  const connection = (name: string): Session.ISessionConnection =>
    (connections[name] ??= { path: name } as Session.ISessionConnection);
  const session = { connection: null as Session.ISessionConnection | null };
  const told: string[] = [];
  const answer = new Map<string, () => void>();
  const handler: { updateWidget: Query } = {
    updateWidget: async (widget, its) => {
      const before = session.connection;
      session.connection = its;
      await new Promise<void>(resolve => answer.set(widget.id, resolve));
      told.push(`${widget.id} as ${session.connection?.path}`);
      if (before && !debugged.includes(widget.id)) {
        session.connection = before;
      }
    }
  };
  const asked = vi.fn();
  const debug = {
    session,
    updateBreakpoints: async () => void told.push('breakpoint')
  } as unknown as IDebugger;
  const ignore = (): void => undefined;
  const queue = new SessionQueue(
    {
      queries: queriesOf(handler, ignore),
      presses: new BugPresses(ignore),
      service: new DebuggerService(debug, ignore)
    },
    { currentWidget: panel(front) },
    debug,
    asked
  );
  const look = (name: string): Promise<void> =>
    handler.updateWidget(panel(name), connection(name));
  const answers = async (name: string): Promise<void> => {
    await vi.waitFor(() => expect(answer.has(name)).toBe(true));
    answer.get(name)!();
    answer.delete(name);
  };
  return { queue, look, answers, told, session, asked, bug, debug };
}

it("looks at one notebook's debugger after another, as all share a session", async () => {
  const { queue, look, answers, told, session, asked } = made(['a'], 'a');
  const looks = [look('a'), look('b'), look('c')];
  for (const name of ['a', 'b', 'c']) {
    await answers(name);
  }
  await Promise.all([...looks, queue.idle()]);
  expect(told).toEqual(['a as a', 'b as b', 'c as c']);
  expect(session.connection?.path).toBe('a');
  expect(asked).toHaveBeenCalledTimes(1);
});

it('leaves the session to the notebook in front', async () => {
  const { queue, look, answers, told, session } = made(['a', 'b'], 'a');
  const looks = [look('a'), look('b')];
  for (const name of ['a', 'b', 'a']) {
    await answers(name);
  }
  await Promise.all([...looks, queue.idle()]);
  expect(told).toEqual(['a as a', 'b as b', 'a as a']);
  expect(session.connection?.path).toBe('a');
});

it('has a press of the bug and a breakpoint wait, too', async () => {
  const { queue, look, answers, told, bug, debug } = made(['a'], 'a');
  bug.onClick = () => void told.push('pressed');
  const looks = [look('a'), look('b')];
  await answers('a');
  bug.onClick();
  const set = debug.updateBreakpoints('', []);
  await answers('b');
  await Promise.all([...looks, set]);
  expect(told).toEqual(['a as a', 'b as b', 'pressed', 'breakpoint']);
  bug.onClick();
  await queue.idle();
  expect(told.at(-1)).toBe('pressed');
});

it('is in use until a breakpoint is set, so that the next click is held', async () => {
  const { queue, told, debug } = made(['a'], 'a');
  const first = debug.updateBreakpoints('', []);
  expect(queue.busy).toBe(true);
  await first;
  await queue.idle();
  expect([queue.busy, told]).toEqual([false, ['breakpoint']]);
});

it('goes on where a kernel does not answer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const { look, answers, told } = made([], 'a');
    void look('b');
    const next = look('a');
    await vi.advanceTimersByTimeAsync(60_000);
    vi.useRealTimers();
    await answers('a');
    await next;
    expect(told).toEqual(['a as a']);
  } finally {
    vi.useRealTimers();
  }
});
