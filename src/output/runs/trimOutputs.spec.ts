import { CodeCell, CodeCellModel } from '@jupyterlab/cells';
import { NotebookModel } from '@jupyterlab/notebook';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { MOST_KEPT } from '../lines/trim';
import { trimOutputs } from './trimOutputs';

it('replaces a stream that is too long, whose text only JupyterLab forgets', () => {
  const model = new CodeCellModel({});
  const text = '[0] a line\n'.repeat(MOST_KEPT / 10);
  model.outputs.add({ output_type: 'stream', name: 'stdout', text });
  const outputArea = {} as CodeCell['outputArea'];
  const long = model.outputs.get(0).streamText!;
  const [ofArea, ofOthers] = [vi.fn(), vi.fn()];
  long.changed.connect(ofArea, outputArea);
  long.changed.connect(ofOthers);
  trimOutputs({ model, outputArea }, false);
  const short = model.outputs.get(0).streamText!;
  expect(short.text.length).toBeLessThan(MOST_KEPT);
  expect(short.text).toMatch(/lines are left out of the middle/);
  long.insert(long.text.length, 'late');
  expect(ofArea).not.toHaveBeenCalled();
  expect(JSON.stringify(model.sharedModel.getOutputs())).not.toContain('late');
  expect(ofOthers).toHaveBeenCalledOnce();
  Signal.clearData(long);
});

it.each([false, true])(
  'leaves a notebook as modified as it was: %s',
  modified => {
    const notebook = new NotebookModel();
    const text = '[0] a line\n'.repeat(MOST_KEPT / 10);
    const outputs = [{ output_type: 'stream', name: 'stdout', text }];
    const cell = { cell_type: 'code', source: '', metadata: {}, outputs };
    notebook.sharedModel.insertCell(0, cell as never);
    notebook.dirty = modified;
    const model = notebook.cells.get(0) as CodeCellModel;
    trimOutputs({ model, outputArea: {} as CodeCell['outputArea'] }, false);
    expect(JSON.stringify(notebook)).toContain('left out of the middle');
    expect(notebook.dirty).toBe(modified);
    notebook.dispose();
  }
);
