import { CodeCell, CodeCellModel } from '@jupyterlab/cells';
import { expect, it, vi } from 'vitest';

interface IRuns {
  /** End the oldest run, as the kernel's reply does. */
  end: (error?: Error) => Promise<void>;
  cell: CodeCell;
  told: string[];
  prompts: string[];
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
  const { addCellStates, showState } = await import('./olderCells');
  addCellStates();
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
  return { cell, end, told, prompts };
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
