import { CodeCell } from '@jupyterlab/cells';
import { IDebugger } from '@jupyterlab/debugger';
import { INotebookTracker } from '@jupyterlab/notebook';
import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { makeCluster } from '../../testing/clusters';
import { CellNames, nameOf, runningOf } from './cellNames';

const trans = nullTranslator.load('dtrain_lab');
const cell = { id: 'c1', count: null, runs: true };
const running = {
  cell: '[7]',
  cell_id: 'c1',
  notebook: 'train.ipynb',
  ranks: [0, 1],
  started_at: 0,
  detached: false,
  kind: 'cell' as const
};

it('names a cell that runs by the number that it will get', () => {
  const cluster = { ...makeCluster(), running: [running] };
  expect(nameOf(cell, [cluster], trans)).toBe('cell\u00a0[7]');
  expect(nameOf({ ...cell, begun: 8 }, [], trans)).toBe('cell\u00a0[8]');
  const done = { ...cell, runs: false, count: 7 };
  expect(nameOf(done, [cluster], trans)).toBe('cell\u00a0[7]');
});

it('names a cell without a number as its prompt does', () => {
  expect(nameOf(cell, [], trans)).toBe('cell\u00a0[*]');
  const fresh = { ...cell, runs: false };
  expect(nameOf(fresh, [], trans)).toBe('cell\u00a0[\u00a0]');
});

it('tells whether another cell runs, and nothing of what a step changes', () => {
  const cluster = { ...makeCluster(), running: [running] };
  const later = { ...cluster, running: [{ ...running, started_at: 5 }] };
  expect(runningOf([later])).toBe(runningOf([cluster]));
  const next = { ...cluster, running: [{ ...running, cell: '[8]' }] };
  expect(runningOf([next])).not.toBe(runningOf([cluster]));
});

/** A notebook with cells of these texts; the test sends its kernel's messages. */
function makePanel(texts: string[], kernel = '') {
  const widgets = texts.map((text, index) => {
    const model = {
      id: `${text} ${index}`,
      executionCount: null as number | null,
      executionState: 'idle',
      sharedModel: { getSource: () => text }
    };
    const cell = Object.create(CodeCell.prototype) as CodeCell;
    Object.defineProperties(cell, {
      model: { value: model },
      isDisposed: { value: false },
      outputArea: { value: {}, writable: true }
    });
    return { cell, model };
  });
  const iopubMessage = new Signal<object, object>({});
  const panel = {
    content: { widgets: widgets.map(({ cell }) => cell) },
    sessionContext: { iopubMessage, session: { kernel: { id: kernel } } }
  };
  const say = (msg_type: string, msg_id: string, content: object): void => {
    const header = { msg_type };
    iopubMessage.emit({ header, parent_header: { msg_id }, content });
  };
  const begin = (index: number, count: number): void => {
    const { cell, model } = widgets[index];
    const msg = { header: { msg_id: `m${count}` } };
    Object.assign(cell, { outputArea: { future: { msg, isDisposed: false } } });
    model.executionState = 'running';
    const content = { code: texts[index], execution_count: count };
    say('execute_input', `m${count}`, content);
  };
  const end = (index: number, count: number): void => {
    say('status', `m${count}`, { execution_state: 'idle' });
    Object.assign(widgets[index].model, {
      executionCount: count,
      executionState: 'idle'
    });
  };
  return { panel, widgets, begin, end };
}

function makeNames(
  panels: ReturnType<typeof makePanel>[],
  kernel: object | null = null,
  cells: Record<string, string> = {}
) {
  const getCodeId = vi.fn((text: string) => `/ipykernel_1/${text.length}.py`);
  const tracker = {
    forEach: (of: (panel: object) => void) =>
      panels.forEach(({ panel }) => of(panel)),
    widgetAdded: new Signal<object, object>({})
  } as unknown as INotebookTracker;
  const clusters = { clusters: [] };
  const names = new CellNames(
    {
      getCodeId,
      session: { connection: { kernel } } as unknown as IDebugger.ISession
    },
    tracker,
    clusters,
    trans,
    { view: { cells, on: true } }
  );
  const shown = (text: string): string =>
    names.getDisplayName({
      path: `/ipykernel_1/${text.length}.py`
    } as IDebugger.Source);
  return { names, getCodeId, shown };
}

const TEXT = '%%distributed\nx = 1';

it('gives the same cell of two notebooks numbers of their own', () => {
  const [one, two] = [makePanel([TEXT]), makePanel(['y', TEXT])];
  const { shown } = makeNames([one, two]);
  expect(shown(TEXT)).toBe('cell\u00a0[\u00a0]');
  one.begin(0, 4);
  expect(shown(TEXT)).toBe('cell\u00a0[4]');
  one.end(0, 4);
  two.begin(1, 9);
  expect(shown(TEXT)).toBe('cell\u00a0[9]');
  two.widgets[1].model.executionState = 'idle';
  two.widgets[1].model.executionCount = null;
  one.begin(0, 5);
  expect(shown(TEXT)).toBe('cell\u00a0[5]');
});

it('names cells of the notebook that is debugged, and of a job as the job does', () => {
  const [one, two] = [makePanel([TEXT], 'k1'), makePanel(['y', TEXT], 'k2')];
  const kernel = { id: 'k1' };
  const cells: Record<string, string> = {};
  const { shown } = makeNames([one, two], kernel, cells);
  one.begin(0, 4);
  two.begin(1, 13);
  one.end(0, 4);
  expect(shown(TEXT)).toBe('cell\u00a0[4]');
  kernel.id = 'k2';
  expect(shown(TEXT)).toBe('cell\u00a0[13]');
  cells[`/ipykernel_1/${TEXT.length}.py`] = '[2]';
  expect(shown(TEXT)).toBe('cell\u00a0[2]');
});

it('forgets the number of a cell that has ended', () => {
  const one = makePanel([TEXT]);
  const { shown } = makeNames([one]);
  one.begin(0, 4);
  one.end(0, 4);
  one.widgets[0].model.executionState = 'running'; // runs again, with no number from the kernel yet
  expect(shown(TEXT)).toBe('cell\u00a0[*]');
});

it('tells cells that have not run apart by their first lines', () => {
  const other = '%%distributed\n\nloss = train(model, epochs=3)';
  const one = makePanel([TEXT, other]);
  const { shown } = makeNames([one]);
  expect(shown(TEXT)).toBe('cell\u00a0[\u00a0] "x = 1"');
  expect(shown(other)).toBe('cell\u00a0[\u00a0] "loss = train(model, epoc…"');
  one.begin(0, 4);
  one.end(0, 4);
  expect(shown(TEXT)).toBe('cell\u00a0[4]');
  expect(shown(other)).toBe('cell\u00a0[\u00a0]');
});

it('makes no hash of a text twice', () => {
  const other = '%%distributed\nother';
  const { getCodeId, shown } = makeNames([makePanel([TEXT, other, 'y'])]);
  const hashed = (): string[] =>
    getCodeId.mock.calls.map(([text]) => text).filter(text => text);
  for (let frame = 0; frame < 5; frame++) {
    shown(TEXT);
    shown(other);
    shown('none of these, and open nowhere');
  }
  expect(hashed().sort()).toEqual([other, TEXT].sort());
  getCodeId.mockImplementation(text => `/ipykernel_2/${text.length}`); // a new kernel
  expect(shown(TEXT)).toBe(`/ipykernel_1/${TEXT.length}.py`);
});

it('names a file of the ranks without its folders, and leaves those of a kernel alone', () => {
  const source = { path: '/home/me/project/model.py' } as IDebugger.Source;
  const { names } = makeNames([]);
  expect(names.canHandle(source)).toBe(true);
  expect(names.getDisplayName(source)).toBe('model.py');
  const off = new CellNames(
    { getCodeId: () => '' },
    {
      forEach: () => undefined,
      widgetAdded: new Signal<object, object>({})
    } as unknown as INotebookTracker,
    { clusters: [] },
    trans,
    { view: null }
  );
  expect(off.canHandle(source)).toBe(false);
});
