import { CodeCell } from '@jupyterlab/cells';
import { IDebugger } from '@jupyterlab/debugger';
import { INotebookTracker } from '@jupyterlab/notebook';
import { Signal } from '@lumino/signaling';
import { expect, it } from 'vitest';

import { highlightCurrentLine } from './currentLine';

/** A notebook of one cell, and how often its current frame was announced. */
function lab(path: string, marked = '') {
  const node = document.createElement('div');
  node.innerHTML = marked;
  const cell = Object.create(CodeCell.prototype) as CodeCell;
  Object.defineProperties(cell, {
    model: { value: { sharedModel: { getSource: () => 'x' } } },
    node: { value: node },
    disposed: { value: new Signal({}) },
    isDisposed: { value: false, writable: true }
  });
  const panel = {
    sessionContext: { session: { path: 'a.ipynb' } },
    content: { widgets: [cell] }
  };
  const announced: unknown[] = [];
  const callstack = {
    currentFrameChanged: new Signal<object, unknown>({}),
    _frame: { id: 1, line: 16, source: { path } } as unknown,
    get frame() {
      return this._frame;
    },
    set frame(frame) {
      this._frame = frame;
      announced.push(frame);
      this.currentFrameChanged.emit(frame);
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
  /** JupyterLab sets up the editor of the cell. */
  const setUp = (): void => {
    const gutter = document.createElement('div');
    gutter.className = 'cm-gutter cm-breakpoint-gutter';
    node.appendChild(document.createElement('div')).append(gutter);
  };
  return { announced, setUp, done, callstack, cell };
}

it('announces the current frame again once the editor of its cell is set up', async () => {
  const { announced, setUp, done, cell } = lab('/tmp/x.py');
  cell.node.append(document.createElement('p')); // the editor, without its gutter
  await new Promise(then => window.setTimeout(then));
  expect(announced).toEqual([]);
  setUp();
  await done;
  expect(announced).toHaveLength(1);
});

it('leaves a line alone that is highlighted, or in no cell, or not current any more', async () => {
  const elsewhere = lab('/home/model.py');
  await elsewhere.done;
  const mark = '<i class="jp-DebuggerEditor-highlight"></i>';
  const marked = lab('/tmp/x.py', mark);
  marked.setUp();
  await marked.done;
  const moved = lab('/tmp/x.py');
  moved.callstack._frame = null;
  moved.callstack.currentFrameChanged.emit(null);
  await moved.done;
  const gone = lab('/tmp/x.py');
  Object.assign(gone.cell, { isDisposed: true });
  (gone.cell.disposed as Signal<object, void>).emit();
  await gone.done;
  for (const { announced } of [elsewhere, marked, moved, gone]) {
    expect(announced).toEqual([]);
  }
});
