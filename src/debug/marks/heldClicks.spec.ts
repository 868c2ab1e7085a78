import { RangeSet } from '@codemirror/state';
import { EditorView, gutter } from '@codemirror/view';
import { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import { afterEach, expect, it, vi } from 'vitest';

import { holdClicks } from './heldClicks';
import { SessionQueue } from '../sessionQueue';

const HEIGHT = 14;
let view: EditorView;
/** Lines whose clicks have reached JupyterLab's debugger. */
let clicked: number[];
let queue: { busy: boolean; idle: () => Promise<void> };
let held: IDisposable;
/** Kernels are queried, or not any more. */
let turn: (busy: boolean) => void;
let end: () => void;

/** An editor with a gutter as JupyterLab's debugger makes it, below 100 px of something else. */
function edit(doc: string): void {
  clicked = [];
  const lines = gutter({
    class: 'cm-breakpoint-gutter',
    renderEmptyElements: true,
    markers: () => RangeSet.empty,
    domEventHandlers: {
      mousedown: (editor, line) => {
        clicked.push(editor.state.doc.lineAt(line.from).number);
        return true;
      }
    }
  });
  view = new EditorView({ doc, extensions: [lines], parent: document.body });
  // jsdom lays nothing out
  vi.spyOn(view, 'documentTop', 'get').mockReturnValue(100);
  const at = (number: number) => ({
    ...view.state.doc.line(number),
    top: (number - 1) * HEIGHT,
    height: HEIGHT
  });
  vi.spyOn(view, 'lineBlockAtHeight').mockImplementation(
    y => at(1 + Math.floor(y / HEIGHT)) as never
  );
  vi.spyOn(view, 'lineBlockAt').mockImplementation(
    position => at(view.state.doc.lineAt(position).number) as never
  );
}

function click(line: number): boolean {
  const clientY = 100 + (line - 0.5) * HEIGHT;
  return view.dom
    .querySelector('.cm-gutter.cm-breakpoint-gutter')!
    .dispatchEvent(
      new MouseEvent('mousedown', { bubbles: true, cancelable: true, clientY })
    );
}

function hold(busy: boolean): void {
  const ended = new Promise<void>(resolve => {
    end = () => {
      turn(false);
      resolve();
    };
  });
  const its = { busy, idle: () => ended } as unknown as SessionQueue;
  const busyChanged = new Signal<SessionQueue, void>(its);
  queue = Object.assign(its, { busyChanged });
  turn = now => {
    queue.busy = now;
    busyChanged.emit();
  };
  held = holdClicks(its);
}

afterEach(() => {
  held.dispose();
  view.destroy();
  vi.restoreAllMocks();
});

it('holds a click beside a line while another kernel is asked', async () => {
  edit('a = 1\nb = 2\nc = 3');
  hold(true);
  click(3);
  expect(clicked).toEqual([]);
  end();
  await vi.waitFor(() => expect(clicked).toEqual([3]));
  click(1);
  expect(clicked).toEqual([3, 1]);
});

it('passes others on at once', () => {
  edit('a = 1\nb = 2\nc = 3');
  hold(true);
  const pressed = vi.fn();
  view.contentDOM.addEventListener('mousedown', pressed);
  view.contentDOM.dispatchEvent(new MouseEvent('mousedown', { bubbles: true }));
  expect(pressed).toHaveBeenCalledTimes(1);
  end();
});

it('lets a click go whose line, or whose debugger, is gone', async () => {
  edit('a = 1\nb = 2\nc = 3');
  hold(true);
  click(3);
  view.dispatch({ changes: { from: 5, to: view.state.doc.length } });
  end();
  await queue.idle();
  await Promise.resolve();
  expect(clicked).toEqual([]);
});

it('listens to clicks only while a kernel is asked', () => {
  edit('a = 1\nb = 2\nc = 3');
  const add = vi.spyOn(document, 'addEventListener');
  const remove = vi.spyOn(document, 'removeEventListener');
  hold(false);
  expect(add).not.toHaveBeenCalled();
  turn(true);
  click(2);
  expect([add.mock.calls.length, clicked]).toEqual([1, []]);
  turn(false);
  click(2);
  expect(clicked).toEqual([2]);
  turn(true);
  held.dispose();
  click(1);
  expect(clicked).toEqual([2, 1]);
  expect(remove.mock.calls.at(-1)).toEqual(add.mock.calls.at(-1));
});
