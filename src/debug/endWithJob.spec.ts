import { StateDB } from '@jupyterlab/statedb';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { EndWithJob, IEndParts } from './endWithJob';

const GONE = { rank: 0, phase: 'gone' };
const RUNS = { rank: 1, phase: 'running' };

/** The browser's state, which outlives the page. */
type State = Pick<StateDB, 'fetch' | 'save'>;

/**
 * A notebook whose debugger *Debug* has turned on for the job `night`.
 *
 * @param reloaded - it was turned on before the page was loaded with this state.
 */
function made(state: State = new StateDB(), reloaded = false) {
  const debug = {
    session: { connection: { kernel: { id: 'k' } } },
    model: { stoppedThreads: new Set([1001]) },
    stop: vi.fn(async () => {
      model.isStarted = false;
    })
  };
  const changed = new Signal<object, void>({});
  const model = { view: null as object | null, isStarted: true, changed };
  const queue = {
    idle: vi.fn(async () => {}),
    query: vi.fn(async () => expect(debug.stop).toHaveBeenCalled())
  };
  const onError = (error: unknown): void => expect(error).toBeUndefined();
  const session = { kernel: { id: 'k' } };
  const panel = { sessionContext: { session } };
  const tracker = {
    find: (is: (each: object) => boolean) => [panel].find(is)
  };
  const kept = { over: vi.fn((stop: () => Promise<void>) => stop()) };
  const parts = { debug, kept, model, queue, state, tracker, onError };
  const ends = new EndWithJob(parts as unknown as IEndParts);
  /** The kernel reports that it debugs a job or cluster. */
  const told = async (
    world: string,
    code: string,
    ranks: object[],
    on = true
  ): Promise<void> => {
    model.view = { on, code, world, ranks };
    changed.emit();
    await new Promise(then => window.setTimeout(then));
  };
  if (!reloaded) {
    ends.follow('k', 'night');
  }
  return { ends, panel, debug, kept, model, queue, told };
}

it('turns the debugger off once all ranks of its job have ended', async () => {
  const { debug, kept, queue, panel, told } = made();
  await told('night', 'running', [RUNS, RUNS]);
  await told('night', 'ended', [GONE, RUNS]);
  expect(debug.stop).not.toHaveBeenCalled();
  await told('night', 'ended', [GONE, GONE]);
  await told('night', 'ended', [GONE, GONE]);
  expect(debug.stop).toHaveBeenCalledTimes(1);
  // else they would be lost
  expect(kept.over).toHaveBeenCalledTimes(1);
  // else its bug stays pressed
  expect(queue.query).toHaveBeenCalledExactlyOnceWith(panel);
});

it('leaves it on where the user has used it for something else', async () => {
  const own = made();
  await own.told('cluster', 'running', [RUNS]);
  await own.told('night', 'ended', [GONE]);
  expect(own.debug.stop).not.toHaveBeenCalled();

  const again = made();
  again.model.isStarted = false;
  await again.told('night', 'off', [RUNS], false);
  again.model.isStarted = true; // the user has turned it off and on
  await again.told('night', 'ended', [GONE]);
  expect(again.debug.stop).not.toHaveBeenCalled();

  const stopped = made();
  stopped.debug.model.stoppedThreads.add(3); // in a cell of the kernel itself
  await stopped.told('night', 'ended', [GONE]);
  expect(stopped.debug.stop).not.toHaveBeenCalled();

  const left = made();
  expect(left.ends.leave('k')).toBe(true);
  expect(left.ends.leave('k')).toBe(false);
  await left.told('night', 'ended', [GONE]);
  expect(left.debug.stop).not.toHaveBeenCalled();
});

it('turns nothing off any more once the plugin is deactivated', async () => {
  const { debug, ends, told } = made();
  await told('night', 'running', [RUNS]);
  ends.dispose();
  await told('night', 'ended', [GONE]);
  expect(debug.stop).not.toHaveBeenCalled();

  // while it waits for the session
  const waits = made();
  waits.queue.idle.mockImplementation(async () => waits.ends.dispose());
  await waits.told('night', 'ended', [GONE]);
  expect(waits.queue.idle).toHaveBeenCalledTimes(1);
  expect(waits.debug.stop).not.toHaveBeenCalled();

  // before it has read what an earlier page has kept
  const state = new StateDB();
  made(state);
  const reloaded = made(state, true);
  reloaded.ends.dispose();
  await reloaded.ends.ready;
  await reloaded.told('night', 'ended', [GONE]);
  expect(reloaded.debug.stop).not.toHaveBeenCalled();
});

it('leaves the debugger of another notebook on, and turns this one off when it is in front', async () => {
  const { debug, queue, told } = made();
  debug.session.connection.kernel = { id: 'other' };
  await told('night', 'ended', [GONE]);
  expect(queue.idle).not.toHaveBeenCalled();
  debug.session.connection.kernel = { id: 'k' };
  await told('night', 'ended', [GONE]);
  expect(debug.stop).toHaveBeenCalledTimes(1);

  const moved = made();
  moved.queue.idle.mockImplementation(async () => {
    moved.debug.session.connection.kernel = { id: 'other' };
  });
  await moved.told('night', 'ended', [GONE]);
  expect(moved.debug.stop).not.toHaveBeenCalled();
});

it('turns it off also if the page was reloaded meanwhile, unless the user has used it since', async () => {
  const state = new StateDB();
  made(state);
  const reloaded = made(state, true);
  await reloaded.ends.ready;
  await reloaded.told('night', 'running', [RUNS]);
  expect(reloaded.debug.stop).not.toHaveBeenCalled();
  await reloaded.told('night', 'ended', [GONE]);
  expect(reloaded.debug.stop).toHaveBeenCalledTimes(1);
  // it is turned off once
  const again = made(state, true);
  await again.ends.ready;
  await again.told('night', 'ended', [GONE]);
  expect(again.debug.stop).not.toHaveBeenCalled();

  const left = made(state);
  await left.told('cluster', 'running', [RUNS]);
  const after = made(state, true);
  await after.ends.ready;
  await after.told('night', 'ended', [GONE]);
  expect(after.debug.stop).not.toHaveBeenCalled();
});

it('ignores what it cannot read of an earlier page', async () => {
  const fetch = async (): Promise<[string, number | string][]> => [
    ['other', 1],
    ['k', 'night']
  ];
  const { debug, ends, told } = made({ fetch, save: async () => {} }, true);
  await ends.ready;
  await told('night', 'ended', [GONE]);
  expect(debug.stop).toHaveBeenCalledTimes(1);
});
