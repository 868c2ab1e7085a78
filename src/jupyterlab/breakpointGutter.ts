import { EditorView } from '@codemirror/view';
import { IDebugger } from '@jupyterlab/debugger';

import { CLASSES } from './markup';

const GUTTER = `.cm-gutter.${CLASSES.gutter}`;

/** A line beside which somebody has clicked in a gutter of breakpoints. */
export interface IGutterClick {
  view: EditorView;
  line: number;
}

/** Ms within which a kernel has answered a change of breakpoints. */
const ANSWERS_WITHIN = 5000;

/** The editor in an element; null if its text is not shown. */
export function viewIn(node: Element): EditorView | null {
  const editor = node.querySelector<HTMLElement>('.cm-editor');
  return editor && EditorView.findFromDOM(editor);
}

/** Wait until JupyterLab's list of breakpoints has changed; not longer than a kernel takes to answer. */
export function whenPointsChange({
  changed
}: Pick<IDebugger.Model.IBreakpoints, 'changed'>): Promise<void> {
  return new Promise(resolve => {
    const done = (): void => {
      window.clearTimeout(timer);
      changed.disconnect(done);
      resolve();
    };
    const timer = window.setTimeout(done, ANSWERS_WITHIN);
    changed.connect(done);
  });
}

/** Whether an element, or one in it, is an editor that JupyterLab has set up for the debugger. */
export function isSetUp(node: Element): boolean {
  return node.querySelector(`.${CLASSES.gutter}`) !== null;
}

/** Whether JupyterLab highlights the line of the current frame in an element. */
export function hasCurrentLine(node: Element): boolean {
  return node.querySelector(`.${CLASSES.currentLine}`) !== null;
}

/** Where an event is in a gutter of breakpoints; null if it is elsewhere. */
export function clickIn(event: MouseEvent): IGutterClick | null {
  const { target } = event;
  const gutter =
    target instanceof Element ? target.closest<HTMLElement>(GUTTER) : null;
  const editor = gutter?.closest<HTMLElement>('.cm-editor');
  const view = editor && EditorView.findFromDOM(editor);
  return gutter && view
    ? { view, line: clickedLine(view, gutter, event) }
    : null;
}

/** Click beside a line: JupyterLab decides there what a click does. Nothing if line or gutter is gone. */
export function clickBeside({ view, line }: IGutterClick, button = 0): void {
  const gutter = view.dom.querySelector<HTMLElement>(GUTTER);
  if (gutter && line <= view.state.doc.lines) {
    const { top, height } = view.lineBlockAt(view.state.doc.line(line).from);
    const clientY = view.documentTop + top + height / 2;
    const click = { bubbles: true, cancelable: true, button, clientY };
    gutter.dispatchEvent(new MouseEvent('mousedown', click));
  }
}

/** Number of the line beside which an event was, as CodeMirror determines it. */
function clickedLine(
  view: EditorView,
  gutter: HTMLElement,
  event: MouseEvent
): number {
  const element = [...gutter.children].find(e =>
    e.contains(event.target as Node)
  );
  const box = element?.getBoundingClientRect();
  const y = box ? (box.top + box.bottom) / 2 : event.clientY;
  const { from } = view.lineBlockAtHeight(y - view.documentTop);
  return view.state.doc.lineAt(from).number;
}

/**
 * Lines with a dot in an editor's gutter: JupyterLab moves dots with each key, and tells nobody where they are.
 *
 * @returns the lines, from 1; null unless the gutter has one row for each line (it is long, or lines are folded).
 */
export function dotsIn(node: Element): number[] | null {
  const view = viewIn(node);
  const gutter = view?.dom.querySelector(GUTTER);
  return view && gutter ? dottedRows(gutter, view.state.doc.lines) : null;
}

/**
 * Numbers of a gutter's rows that show a dot.
 *
 * @param lines - number of lines of the text.
 * @returns null if the rows are not the lines.
 */
export function dottedRows(gutter: Element, lines: number): number[] | null {
  // the first one only gives the gutter its width
  const rows = [...gutter.children].filter(
    row => (row as HTMLElement).style.visibility !== 'hidden'
  );
  return rows.length === lines
    ? rows.flatMap((row, i) => (row.hasChildNodes() ? [i + 1] : []))
    : null;
}
