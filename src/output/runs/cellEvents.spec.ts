import { CodeCell, CodeCellModel } from '@jupyterlab/cells';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { CellWatch } from './cellEvents';
import { RUN_KEY } from './storedRun';

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
    moved,
    changed,
    isForeign: () => false,
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
