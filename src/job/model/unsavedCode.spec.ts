import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { Contents } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { unsavedCode } from './unsavedCode';

const PATH = 'a.ipynb';
const notebook = (source: string | string[], more: object = {}): object => ({
  cells: [
    { cell_type: 'code', source, metadata: {}, ...more },
    { cell_type: 'markdown', source: 'x', metadata: {} }
  ],
  metadata: {}
});

it('tells code that is not saved from output and from what JupyterLab adds', async () => {
  const model = {
    dirty: true,
    contentChanged: new Signal<object, void>({}),
    toJSON: () => notebook('lr = 1\nx = 2', { outputs: ['text'] })
  };
  const panel = { context: { isReady: true, model } };
  const fileChanged = new Signal<object, object>({});
  const code = await unsavedCode(
    PATH,
    () => panel as unknown as NotebookPanel,
    {
      currentChanged: new Signal<object, null>({})
    } as unknown as INotebookTracker,
    {
      fileChanged,
      // a file has a cell's lines
      get: async () => ({ content: notebook(['lr = 1\n', 'x = 2']) })
    } as unknown as Contents.IManager
  );
  const told = vi.fn();
  const end = code.onUnsaved(told);
  expect(code.unsaved).toBe(false);
  model.toJSON = () => notebook('lr = 2\nx = 2');
  model.contentChanged.emit();
  expect(code.unsaved).toBe(true);
  await vi.waitFor(() => expect(told).toHaveBeenCalled());
  // a tag counts, too
  model.toJSON = () =>
    notebook('lr = 1\nx = 2', { metadata: { tags: ['parameters'] } });
  expect(code.unsaved).toBe(true);
  fileChanged.emit({ type: 'save', newValue: { path: PATH } });
  expect(code.unsaved).toBe(false);
  // running the last cell adds an empty one
  const { cells } = model.toJSON() as { cells: object[] };
  const empty = { cell_type: 'code', source: '\n', metadata: {} };
  model.toJSON = () => ({ cells: [...cells, empty], metadata: {} });
  expect(code.unsaved).toBe(false);
  end();
});
