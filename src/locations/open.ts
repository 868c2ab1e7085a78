import { Notification } from '@jupyterlab/apputils';
import { Cell, ICodeCellModel } from '@jupyterlab/cells';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';

import { IKernelRecords } from '../tokens';
import { TOAST_MS } from '../ui/text/toast';
import {
  cellIndex,
  ICellFacts,
  ILocation,
  isNotebook,
  labPath
} from './location';
import { serverRoot } from './serverRoot';

type Editor = NonNullable<Cell['editor']>;

/** The part of an opened file's widget that is used. */
interface IFileWidget {
  context: { ready: Promise<void> };
  content?: { editor?: Editor };
}

/** Dependencies for opening a place. */
export interface IOpener {
  commands: CommandRegistry;
  tracker: INotebookTracker | null;
  records: IKernelRecords;
  trans: TranslationBundle;
}

/** The open notebook that a kernel calls by this name; the one with the longest path if that is ambiguous. */
export function openNotebookOf(
  tracker: INotebookTracker | null,
  notebook: string | null | undefined,
  records: IKernelRecords
): NotebookPanel | null {
  if (!tracker || !notebook) {
    return null;
  }
  const root = serverRoot();
  const now = records.currentPath(notebook);
  const found: NotebookPanel[] = [];
  tracker.forEach(panel => {
    if (isNotebook(panel.context.path, now, root)) {
      found.push(panel);
    }
  });
  found.sort((a, b) => b.context.path.length - a.context.path.length);
  return found[0] ?? null;
}

/** Index of a place's cell in an open notebook; −1 if it is not there. */
export function indexIn(
  panel: NotebookPanel,
  place: ILocation,
  byPosition = false
): number {
  const facts = panel.content.widgets.map(({ model }): ICellFacts => {
    const code = model.type === 'code';
    const count = code ? (model as ICodeCellModel).executionCount : null;
    return { id: model.id, code, count };
  });
  return cellIndex(facts, place, byPosition);
}

/** The notebook, opened if necessary; null if it can't be, which is said. */
export async function showNotebook(
  notebook: string,
  opener: IOpener
): Promise<NotebookPanel | null> {
  const { tracker, records } = opener;
  const open = openNotebookOf(tracker, notebook, records);
  if (open?.isVisible) {
    // Notebook 7 has one document per page: opening it again would open another page, and close it here
    open.activate();
    return open;
  }
  const file = open?.context.path ?? records.currentPath(notebook);
  return openFile<NotebookPanel>(file, opener, 'Notebook');
}

/** A file's widget; null if it can't be opened, which is said. */
export async function openFile<T extends Pick<IFileWidget, 'context'>>(
  file: string,
  { commands, trans }: Pick<IOpener, 'commands' | 'trans'>,
  factory?: string
): Promise<T | null> {
  const path = labPath(file, serverRoot());
  if (path === null) {
    Notification.info(
      trans.__(
        "%1 is outside this server's folder: JupyterLab can't open it.",
        file
      )
    );
    return null;
  }
  try {
    const args = factory ? { path, factory } : { path };
    const widget: T | undefined = await commands.execute(
      'docmanager:open',
      args
    );
    await widget?.context.ready;
    return widget ?? null;
  } catch (error) {
    if (!(error instanceof ServerConnection.ResponseError)) {
      throw error;
    }
    Notification.warning(
      error.response.status === 404
        ? trans.__('%1 no longer exists, or has another name or folder.', path)
        : trans.__("%1 can't be opened: %2", path, error.message),
      { autoClose: TOAST_MS }
    );
    return null;
  }
}

/** The cell of a link is no longer in its notebook. */
export function tellCellGone(
  panel: NotebookPanel,
  cell: string,
  trans: TranslationBundle
): void {
  Notification.info(
    trans.__('%1 no longer has a cell %2.', panel.title.label, cell),
    { autoClose: TOAST_MS }
  );
}

/** Show a line of a cell or of a file. */
export async function openLocation(
  place: ILocation,
  opener: IOpener,
  byPosition = false
): Promise<void> {
  if (place.cell && place.notebook) {
    const panel = await showNotebook(place.notebook, opener);
    const index = panel ? indexIn(panel, place, byPosition) : -1;
    if (panel && index < 0) {
      tellCellGone(panel, place.cell, opener.trans);
    } else if (panel) {
      await goToCell(panel, index, place.line ?? 1);
    }
  } else if (place.notebook) {
    await showNotebook(place.notebook, opener);
  } else if (place.file) {
    const widget = await openFile<IFileWidget>(place.file, opener);
    moveTo(widget?.content?.editor ?? null, place.line ?? 1);
  }
}

/**
 * Show a cell of an open notebook.
 *
 * @param index - of the cell in the notebook; nothing happens below 0.
 * @param line - from 1: the cursor is placed there. Without a line, the cell is selected only.
 * @param align - where the cell comes to lie, as for Notebook.scrollToItem.
 */
export async function goToCell(
  { content }: NotebookPanel,
  index: number,
  line?: number | null,
  align: 'auto' | 'center' = 'center'
): Promise<void> {
  if (index < 0) {
    return;
  }
  content.activeCellIndex = index;
  content.deselectAll();
  // rejected where another scroll begins meanwhile, which need not be to another cell
  await content.scrollToItem(index, align).catch(() => undefined);
  if (line && content.activeCellIndex === index) {
    const cell = content.widgets[index];
    await cell.ready;
    content.mode = 'edit';
    moveTo(cell.editor, line);
  }
}

/** Place the cursor on a line, from 1; on the last one if there are fewer. */
function moveTo(editor: Editor | null, line: number): void {
  if (editor) {
    const last = Math.max(0, editor.lineCount - 1);
    const position = { line: Math.min(line - 1, last), column: 0 };
    editor.setCursorPosition(position);
    editor.focus();
    editor.revealPosition(position);
  }
}
