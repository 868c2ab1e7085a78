import { Cell, CodeCell, CodeCellModel } from '@jupyterlab/cells';
import { CodeMirrorEditorFactory } from '@jupyterlab/codemirror';
import { RenderMimeRegistry } from '@jupyterlab/rendermime';
import { PanelLayout, Widget } from '@lumino/widgets';
import { expect, it, vi } from 'vitest';

import { hasPlaces, putAround } from './cells';

interface IRuns {
  /** End the oldest run, as the kernel's reply does. */
  end: (error?: Error) => Promise<void>;
  cell: CodeCell;
  told: string[];
  prompts: string[];
  /** Take everything back. */
  remove: () => void;
}

async function makeRuns(): Promise<IRuns> {
  const ends: ((error?: Error) => void)[] = [];
  Object.assign(CodeCell, {
    execute: (cell: CodeCell): Promise<void> => {
      if (!cell.model.sharedModel.getSource()) {
        return Promise.resolve();
      }
      Object.assign(cell.outputArea, { future: {} });
      return new Promise((resolve, reject) =>
        ends.push(error => (error ? reject(error) : resolve()))
      );
    }
  });
  // as JupyterLab 4.2 is
  Reflect.deleteProperty(CodeCellModel.prototype, 'executionState');
  vi.resetModules();
  vi.doMock('@jupyterlab/cells', () => ({ CodeCell, CodeCellModel }));
  const { addCellStates, showState } = await import('./cells');
  const added = addCellStates();
  const model = new CodeCellModel();
  model.sharedModel.setSource('%%distributed');
  const told: string[] = [];
  const prompts: string[] = [];
  const cell = {
    model,
    isDisposed: false,
    outputArea: { future: undefined },
    setPrompt: (text: string) => prompts.push(text)
  } as unknown as CodeCell;
  model.stateChanged.connect((_, { name, newValue }) => {
    if (name === 'executionState') {
      told.push(String(newValue));
      showState(cell);
    }
  });
  const end = async (error?: Error): Promise<void> => {
    ends.shift()?.(error);
    await new Promise(go => setTimeout(go));
  };
  return { cell, end, told, prompts, remove: () => added.dispose() };
}

const run = (cell: CodeCell): Promise<unknown> =>
  CodeCell.execute(cell, {} as never).catch(() => null);

it('tells that a cell runs from when it is asked for until its answer', async () => {
  const { cell, end, told, prompts } = await makeRuns();
  expect(cell.model.executionState).toBe('idle');
  void run(cell);
  expect(cell.model.executionState).toBe('running');
  await end();
  expect(told).toEqual(['running', 'idle']);
  expect(prompts).toEqual(['*', '']);
});

it('is not ended by the run before, nor begun by a cell without text', async () => {
  const { cell, end, told } = await makeRuns();
  void run(cell);
  void run(cell);
  await end(new Error('Canceled future'));
  expect(cell.model.executionState).toBe('running');
  await end(new Error('KernelReplyNotOK'));
  expect(cell.model.executionState).toBe('idle');
  cell.model.sharedModel.setSource('');
  await run(cell);
  expect(told).toEqual(['running', 'idle']);
});

it('takes back what it has added', async () => {
  const { cell, told, remove } = await makeRuns();
  remove();
  expect('executionState' in CodeCellModel.prototype).toBe(false);
  void run(cell);
  expect(told).toEqual([]);
});

/** A cell as JupyterLab shows it. */
function makeCell(collapsed: boolean): CodeCell {
  const model = new CodeCellModel();
  model.setMetadata('collapsed', collapsed);
  return new CodeCell({
    model,
    rendermime: new RenderMimeRegistry(),
    contentFactory: new Cell.ContentFactory({
      editorFactory: new CodeMirrorEditorFactory().newInlineEditor
    }),
    placeholder: false
  }).initializeState();
}

it('puts widgets above and below the outputs of a cell, also if they are collapsed', () => {
  const report = vi.fn();
  for (const collapsed of [false, true]) {
    const cell = makeCell(collapsed);
    const [above, below] = [new Widget(), new Widget()];
    expect(hasPlaces(cell, report)).toBe(true);
    putAround(cell, above, below);
    cell.outputHidden = false;
    const { widgets } = cell.layout as PanelLayout;
    const at = widgets.findIndex(w => w.node.contains(cell.outputArea.node));
    expect([widgets[at - 1], widgets[at + 1]]).toEqual([above, below]);
    cell.dispose();
  }
  expect(report).not.toHaveBeenCalled();
});

it('reports a cell without a part for its outputs', () => {
  const report = vi.fn();
  const cell = new Widget() as unknown as CodeCell;
  cell.layout = new PanelLayout();
  expect(hasPlaces(cell, report)).toBe(false);
  expect(report.mock.calls).toEqual([['Cell.layout']]);
});
