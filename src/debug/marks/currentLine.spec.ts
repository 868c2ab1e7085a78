import { CodeCell } from '@jupyterlab/cells';
import { IDebugger } from '@jupyterlab/debugger';
import { INotebookTracker } from '@jupyterlab/notebook';
import { expect, it } from 'vitest';

import { highlightCurrentLine } from './currentLine';

/** A notebook of one cell, and how often its current frame was announced. */
function lab(path: string, marked = '') {
  const node = document.createElement('div');
  node.innerHTML = marked;
  let ready = (): void => undefined;
  const cell = Object.create(CodeCell.prototype) as CodeCell;
  Object.defineProperties(cell, {
    ready: { value: new Promise<void>(done => (ready = done)) },
    model: { value: { sharedModel: { getSource: () => 'x' } } },
    node: { value: node },
    isDisposed: { value: false }
  });
  const panel = {
    sessionContext: { session: { path: 'a.ipynb' } },
    content: { widgets: [cell] }
  };
  const announced: unknown[] = [];
  const callstack = {
    _frame: { id: 1, line: 16, source: { path } } as unknown,
    get frame() {
      return this._frame;
    },
    set frame(frame) {
      this._frame = frame;
      announced.push(frame);
    }
  };
  const service = {
    session: { connection: { path: 'a.ipynb' } },
    getCodeId: (text: string) => `/tmp/${text}.py`,
    model: { callstack }
  } as unknown as IDebugger;
  const tracker = {
    find: (is: (panel: object) => boolean) => [panel].find(is)
  } as unknown as INotebookTracker;
  const done = highlightCurrentLine(service, tracker);
  return { announced, ready, done, callstack };
}

it('announces the current frame again once the editor of its cell is there', async () => {
  const { announced, ready, done } = lab('/tmp/x.py');
  await Promise.resolve();
  expect(announced).toEqual([]);
  ready();
  await done;
  expect(announced).toHaveLength(1);
});

it('leaves a line alone that is highlighted, or in no cell, or not current any more', async () => {
  const elsewhere = lab('/home/model.py');
  await elsewhere.done;
  const mark = '<i class="jp-DebuggerEditor-highlight"></i>';
  const marked = lab('/tmp/x.py', mark);
  marked.ready();
  await marked.done;
  const moved = lab('/tmp/x.py');
  moved.callstack._frame = null;
  moved.ready();
  await moved.done;
  for (const { announced } of [elsewhere, marked, moved]) {
    expect(announced).toEqual([]);
  }
});
