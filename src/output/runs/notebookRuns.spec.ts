import { CodeCell, CodeCellModel } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';
import { ServerConnection, ServiceManager } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { makeCluster } from '../../testing/clusters';
import { record } from '../../testing/record';
import { CellRecords } from './cellRecords';
import { NotebookRuns } from './notebookRuns';
import { IClusterRecord } from './storedRun';

/** A cell without its widgets, which need a browser's layout. */
function makeCell(): CodeCell {
  return Object.create(CodeCell.prototype, {
    model: { value: new CodeCellModel({}) },
    disposed: { value: new Signal({}) },
    node: { value: document.createElement('div') },
    outputArea: { value: {} }
  }) as CodeCell;
}

/** The runs of a notebook with 20 cells; `find` counts cells that are looked up. */
function make(ready = Promise.resolve()) {
  const widgets = Array.from({ length: 20 }, makeCell);
  const find = vi.fn(() => null);
  const records = {
    changed: new Signal<object, void>({}),
    find,
    want: vi.fn(),
    refresh: vi.fn()
  };
  const cells = { changed: new Signal<object, void>({}) };
  const panel = {
    content: { widgets },
    context: { ready, localPath: 'a.ipynb', path: 'a.ipynb', model: { cells } },
    disposed: new Signal<object, void>({}),
    sessionContext: {
      iopubMessage: new Signal({}),
      kernelChanged: new Signal({}),
      statusChanged: new Signal({}),
      session: null
    }
  };
  const runs = new NotebookRuns(
    panel as unknown as NotebookPanel,
    records as unknown as CellRecords,
    {
      serverSettings: ServerConnection.makeSettings(),
      sessions: { running: () => [] }
    } as unknown as ServiceManager.IManager
  );
  const emitted: (CodeCell | null)[] = [];
  runs.changed.connect((_, cell) => emitted.push(cell));
  return { cells, emitted, find, records, runs, widgets };
}

it('looks at the cell that has changed only, and at none when somebody types', async () => {
  const { cells, emitted, find, records, widgets } = make();
  await vi.waitFor(() => expect(find).toHaveBeenCalledTimes(20));
  find.mockClear();
  emitted.length = 0;
  widgets[3].model.sharedModel.setSource('print(1)');
  expect(find).not.toHaveBeenCalled();
  widgets[3].model.outputs.add({
    output_type: 'stream',
    name: 'stdout',
    text: '1'
  });
  expect(find.mock.calls).toEqual([[expect.anything(), widgets[3].model.id]]);
  expect(emitted).toEqual([]);
  find.mockClear();
  records.changed.emit();
  expect(find).toHaveBeenCalledTimes(20);
  expect(emitted).toEqual([null]);
  widgets.push(makeCell());
  cells.changed.emit();
  find.mockClear();
  widgets[20].model.executionCount = 4;
  expect(find).toHaveBeenCalledOnce();
});

it('knows the run of a message after its record is gone, and not of the next message', async () => {
  const { records, runs, widgets } = make();
  const cell = widgets[0];
  const ask = (id: string): void => {
    const future = { isDisposed: false, msg: { header: { msg_id: id } } };
    Object.assign(cell.outputArea, { future });
  };
  ask('m1');
  cell.model.sharedModel.setSource('%%distributed\nx');
  cell.model.executionState = 'running';
  let found: IClusterRecord | null = {
    record: record({ state: 'running', ended_at: null }),
    cluster: makeCluster()
  };
  const byRequest = (id: string): IClusterRecord | null =>
    found?.record.request === id ? found : null;
  Object.assign(records, { byRequest });
  await vi.waitFor(() => {
    records.changed.emit();
    expect(runs.seenRun(cell)?.state).toBe('running');
  });
  found = null; // the head was killed
  records.changed.emit();
  expect(runs.recordOf(cell)).toBeNull();
  expect(runs.seenRun(cell)?.ranks).toEqual([0, 1]);
  ask('m2');
  expect(runs.seenRun(cell)).toBeNull();
});

it('asks for nothing once it is disposed', async () => {
  const ready = Promise.resolve();
  const { find, records, runs } = make(ready);
  runs.dispose();
  await ready;
  records.changed.emit();
  expect(find).not.toHaveBeenCalled();
});
