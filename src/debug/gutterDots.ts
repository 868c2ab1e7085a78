import { EditorView } from '@codemirror/view';

/** The gutter in which JupyterLab's debugger shows breakpoints. */
export const GUTTER = '.cm-gutter.cm-breakpoint-gutter';

/**
 * Lines with a dot in an editor's gutter: JupyterLab moves dots with each key, and tells nobody where they are.
 *
 * @returns the lines, from 1; null unless the gutter has one row for each line (it is long, or lines are folded).
 */
export function dotsIn(editor: Element | null | undefined): number[] | null {
  const view =
    editor instanceof HTMLElement ? EditorView.findFromDOM(editor) : null;
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
