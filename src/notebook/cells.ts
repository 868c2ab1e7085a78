import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { CommandRegistry } from '@lumino/commands';

/** A cell as a cluster knows it. */
export interface ICell {
  notebook: string;
  cell_id?: string | null;
  /** "[7]": the execution count. */
  cell?: string | null;
  /** From 1, the magic's line included. */
  line?: number | null;
}

/** The path under the server's root: a kernel may know its notebook by a longer one. */
export function openPathOf(
  open: readonly string[],
  notebook: string
): string | null {
  const name = notebook.split('/').pop();
  return (
    open.find(path => path === notebook) ??
    open.find(path => notebook.endsWith(`/${path}`)) ??
    open.find(path => path.split('/').pop() === name) ??
    null
  );
}

/** Show a notebook, and in it a cell and a line. */
export async function showCell(
  place: ICell,
  tracker: INotebookTracker,
  commands: CommandRegistry
): Promise<void> {
  const open: NotebookPanel[] = [];
  tracker.forEach(panel => void open.push(panel));
  const known = openPathOf(
    open.map(panel => panel.context.path),
    place.notebook
  );
  const panel = (await commands.execute('docmanager:open', {
    path: known ?? place.notebook,
    factory: 'Notebook'
  })) as NotebookPanel | undefined;
  if (!panel) {
    return;
  }
  await panel.context.ready;
  const index = indexOf(panel, place);
  if (index < 0) {
    return;
  }
  const { content } = panel;
  content.activeCellIndex = index;
  await content.scrollToItem(index, 'center');
  if (place.line) {
    const widget = content.widgets[index];
    await widget.ready;
    content.mode = 'edit';
    widget.editor?.setCursorPosition({ line: place.line - 1, column: 0 });
  }
}

function indexOf(panel: NotebookPanel, place: ICell): number {
  const { widgets } = panel.content;
  const byId = widgets.findIndex(w => w.model.id === place.cell_id);
  const count = /\d+/.exec(place.cell ?? '')?.[0];
  return byId >= 0 || !count
    ? byId
    : widgets.findIndex(
        w =>
          w.model.type === 'code' &&
          `${w.model.sharedModel.toJSON().execution_count}` === count
      );
}
