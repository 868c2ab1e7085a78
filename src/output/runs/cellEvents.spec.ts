import { CodeCell, CodeCellModel } from '@jupyterlab/cells';
import { KernelMessage } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { record, result } from '../../testing/record';
import { CellRecord, Cluster } from '../../tokens';
import { CellWatch } from './cellEvents';
import { IRun, readRun, RUN_KEY } from './storedRun';

it('leaves a cell whose view is closed, while another view keeps its model', async () => {
  const model = new CodeCellModel({});
  const disposed = new Signal<object, void>({});
  const toggled = vi.fn();
  const cell = Object.create(CodeCell.prototype, {
    model: { value: model },
    disposed: { value: disposed },
    toggleClass: { value: toggled },
    outputArea: { value: {} }
  }) as CodeCell;
  const changed = vi.fn();
  const moved = vi.fn();
  const watch = new CellWatch({
    asked: () => undefined,
    released: () => undefined,
    cleared: () => undefined,
    moved,
    changed,
    isForeign: () => false,
    isCut: () => false,
    isLive: () => false,
    isWriting: () => false,
    messages: new Signal({})
  });
  const run = async (): Promise<void> => {
    model.executionState = 'running';
    model.executionCount = (model.executionCount ?? 0) + 1;
    model.setMetadata(RUN_KEY, { run: 'r', ranks: [model.executionCount] });
    model.outputs.add({ output_type: 'stream', name: 'stdout', text: '1' });
    model.executionState = 'idle';
    await new Promise(go => setTimeout(go));
  };
  watch.watch(cell);
  await run();
  expect(changed).toHaveBeenCalledTimes(3);
  expect(moved).toHaveBeenCalledTimes(2);
  [changed, moved, toggled].forEach(spy => spy.mockClear());
  disposed.emit();
  await run();
  for (const spy of [changed, moved, toggled]) {
    expect(spy).not.toHaveBeenCalled();
  }
  watch.dispose();
});

/** What a cell's run becomes when its cluster has ended so. */
function ended(
  values: Cluster['summary']['values'],
  { source = '%%distributed', count = null as number | null, error = '' } = {},
  state: IRun['state'] = 'running',
  isCut = false,
  left: CellRecord | null | undefined = null,
  endedWithCluster = true
): IRun | null {
  const model = new CodeCellModel({});
  model.sharedModel.setSource(source);
  model.executionCount = count;
  model.setMetadata(RUN_KEY, {
    run: 'r.1',
    state,
    ranks: [0, 1],
    started: 5,
    cluster: 'c'
  });
  if (error) {
    model.outputs.add({
      output_type: 'error',
      ename: error,
      evalue: '',
      traceback: []
    });
  }
  const watch = new CellWatch({
    isCut: () => isCut,
    messages: new Signal({})
  } as unknown as ConstructorParameters<typeof CellWatch>[0]);
  watch.endUnrecorded({ model } as unknown as CodeCell, {
    endingOf: ({ cluster }) =>
      cluster === 'c' ? { code: 'stopping', values, text: '' } : null,
    leftRecord: () => left,
    endedWithCluster: () => endedWithCluster,
    hearEnding: () => undefined
  });
  watch.dispose();
  return readRun(model.getMetadata(RUN_KEY));
}

it('says of a cell how its cluster has ended', () => {
  const killed = { by: 'killed', at: 9, log: '/logs/c.head' };
  const failed = {
    run: 'r.1',
    state: 'failed',
    ranks: [0, 1],
    started: 5,
    ended: 9,
    said: [{ code: 'killed', values: {} }]
  };
  expect(ended(killed, { count: 2, error: 'Unreachable' })).toEqual(failed);
  // no page was open when it ended, and the notebook was saved before the cell had printed
  expect(ended(killed)).toEqual({ ...failed, silent: true });
  const detached = { source: '%%distributed --no-wait', count: 2 };
  expect(ended(killed, detached)).toEqual(failed);
  expect(ended(killed, {}, 'waiting')?.state).toBe('not run');
  const stopped = { by: 'server', at: 9 };
  expect(ended(stopped)?.said).toEqual([{ code: 'stopped', values: stopped }]);
  // a time that nobody has noted
  expect(ended({ by: 'killed' })?.ended).toBeUndefined();

  // it had ended before its cluster
  expect(ended(killed, { count: 2 })?.state).toBe('running');
  expect(ended({ by: 'unknown', at: 9 })?.state).toBe('running');
});

it('never says of a cell that had ended before that the end of its cluster ended it', () => {
  const stopped = { by: 'terminal', at: 99 };
  const of = (left?: CellRecord | null, more = {}): IRun | null =>
    ended(stopped, more, 'running', false, left, false);
  const done = record({ result: result() });
  const known = { state: 'done', started: 10, ended: 12.5 };
  expect(of(done)).toMatchObject({ ...known, partial: true });
  // the kernel has reported its end: all of its output is there
  expect(of(done, { count: 3 })).toMatchObject(known);
  expect(of(done, { count: 3 })?.partial).toBeUndefined();
  // what the cluster has left is being read; it has left nothing
  expect(of(undefined)?.state).toBe('running');
  expect(of(null)?.state).toBe('running');
});

it('says of a cell that a stopping server has interrupted that its cluster has ended with the server', () => {
  const shutdown = { by: 'shutdown', at: 9 };
  const taken = { error: 'RanksInterrupted' };
  expect(ended(shutdown, taken)).toMatchObject({
    state: 'failed',
    ended: 9,
    said: [{ code: 'stopped', values: shutdown }]
  });
  // how the cluster has ended is not known before the next server has answered
  expect(ended(shutdown, taken, 'running', true)?.state).toBe('running');
  // its user has interrupted it
  expect(ended({ by: 'server', at: 9 }, taken)?.state).toBe('running');
});

it('does not take the time of a reconnection for the time of an end', async () => {
  const model = new CodeCellModel({});
  const cell = Object.create(CodeCell.prototype, {
    model: { value: model },
    disposed: { value: new Signal<object, void>({}) },
    toggleClass: { value: () => undefined },
    outputArea: {
      value: { future: { isDisposed: false, msg: { header: { msg_id: 'm' } } } }
    }
  }) as CodeCell;
  model.sharedModel.setSource('%%distributed');
  let isCut = false;
  const none = (): undefined => undefined;
  const watch = new CellWatch({
    asked: none,
    released: none,
    cleared: none,
    moved: none,
    changed: none,
    isForeign: () => false,
    isCut: () => isCut,
    isLive: () => true,
    isWriting: () => false,
    messages: new Signal({})
  });
  watch.watch(cell);
  model.executionState = 'running';
  await vi.waitFor(() => expect(watch.asked(cell)).toBe('m'));
  model.setMetadata(RUN_KEY, { run: 'r', state: 'running', ranks: [0] });
  model.outputs.add({
    output_type: 'error',
    ename: 'RanksInterrupted',
    evalue: '',
    traceback: []
  });
  isCut = true;
  model.executionState = 'idle';
  isCut = false;
  watch.endUnrecorded(cell, {
    endingOf: () => null,
    leftRecord: () => null,
    endedWithCluster: () => false,
    hearEnding: () => undefined
  });
  const run = readRun(model.getMetadata(RUN_KEY));
  expect(run?.state).toBe('interrupted');
  expect(run?.ended).toBeUndefined();
  watch.dispose();
});

it('knows that a run goes on whose output the user clears, and notes it', async () => {
  const model = new CodeCellModel({});
  model.sharedModel.setSource('%%distributed');
  let end: () => void = () => undefined;
  const hooks: ((message: KernelMessage.IIOPubMessage) => boolean)[] = [];
  const future = {
    isDisposed: false,
    msg: { header: { msg_id: 'm' } },
    done: new Promise<void>(resolve => (end = resolve)),
    registerMessageHook: (hook: (typeof hooks)[0]) => hooks.push(hook),
    removeMessageHook: () => hooks.pop()
  };
  const cell = Object.create(CodeCell.prototype, {
    model: { value: model },
    disposed: { value: new Signal<object, void>({}) },
    toggleClass: { value: () => undefined },
    outputArea: { value: { future } }
  }) as CodeCell;
  const none = (): undefined => undefined;
  const cleared = vi.fn();
  const watch = new CellWatch({
    asked: none,
    released: none,
    cleared,
    moved: none,
    changed: none,
    isForeign: () => false,
    isCut: () => false,
    isLive: () => true,
    isWriting: () => false,
    messages: new Signal({})
  });
  watch.watch(cell);
  model.executionState = 'running';
  await vi.waitFor(() => expect(watch.asked(cell)).toBe('m'));
  model.clearExecution();
  await vi.waitFor(() => expect(cleared).toHaveBeenCalledWith(cell));
  expect(model.executionState).toBe('running');
  // the kernel updates the area of progress bars, which is gone: it is displayed again, once
  const area = (): KernelMessage.IIOPubMessage =>
    ({
      header: { msg_type: 'update_display_data' },
      content: { metadata: { dtrain: { area: [] } } }
    }) as unknown as KernelMessage.IIOPubMessage;
  const bars = area();
  expect(hooks.map(hook => hook(bars))).toEqual([true]);
  expect(bars.header.msg_type).toBe('display_data');
  expect(hooks).toEqual([]);
  cleared.mockClear();
  end();
  await future.done;
  model.executionCount = 1;
  model.clearExecution();
  await new Promise(go => setTimeout(go));
  expect(model.executionState).toBe('idle');
  expect(cleared).not.toHaveBeenCalled();
  watch.dispose();
});
