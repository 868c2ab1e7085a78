import { Notification } from '@jupyterlab/apputils';
import { Cell, ICodeCellModel } from '@jupyterlab/cells';
import { PageConfig } from '@jupyterlab/coreutils';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';

import { cellIndex, ICellFacts, IPlace, isNotebook, labPath } from './find';

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
  trans: TranslationBundle;
}

/**
 * The server's folder; empty if the page does not know it. JupyterLab's own `serverRoot` may begin with "~".
 */
export function serverRoot(): string {
  const root =
    PageConfig.getOption('dtrainRoot') || PageConfig.getOption('serverRoot');
  return root.startsWith('/') ? root : '';
}

/** The open notebook that a kernel calls by this name; the one with the longest path if that is ambiguous. */
export function openNotebookOf(
  tracker: INotebookTracker | null,
  notebook: string | null | undefined
): NotebookPanel | null {
  if (!tracker || !notebook) {
    return null;
  }
  const root = serverRoot();
  const found: NotebookPanel[] = [];
  tracker.forEach(panel => {
    if (isNotebook(panel.context.path, notebook, root)) {
      found.push(panel);
    }
  });
  found.sort((a, b) => b.context.path.length - a.context.path.length);
  return found[0] ?? null;
}

/** Index of a place's cell in an open notebook; −1 if it is not there. */
export function indexIn(
  panel: NotebookPanel,
  place: IPlace,
  byPosition = false
): number {
  const facts = panel.content.widgets.map(({ model }): ICellFacts => {
    const code = model.type === 'code';
    const count = code ? (model as ICodeCellModel).executionCount : null;
    return { id: model.id, code, count };
  });
  return cellIndex(facts, place, byPosition);
}

/** The notebook, opened if necessary; null if it can't be. */
export async function showNotebook(
  notebook: string,
  { commands, tracker, trans }: IOpener
): Promise<NotebookPanel | null> {
  const open = openNotebookOf(tracker, notebook);
  if (open?.isVisible) {
    // Notebook 7 has one document per page: opening it again would open another page, and close it here
    open.activate();
    return open;
  }
  const path = open?.context.path ?? labPath(notebook, serverRoot());
  if (path === null) {
    outside(notebook, trans);
    return null;
  }
  const panel = (await commands.execute('docmanager:open', {
    path,
    factory: 'Notebook'
  })) as NotebookPanel | undefined;
  await panel?.context.ready;
  return panel ?? null;
}

/** Show a line of a cell or of a file. */
export async function openPlace(
  place: IPlace,
  opener: IOpener,
  byPosition = false
): Promise<void> {
  const line = (place.line ?? 1) - 1;
  if (place.cell && place.notebook) {
    const panel = await showNotebook(place.notebook, opener);
    const index = panel ? indexIn(panel, place, byPosition) : -1;
    if (panel && index < 0) {
      Notification.info(
        opener.trans.__(
          '%1 no longer has a cell %2.',
          panel.title.label,
          place.cell
        )
      );
    } else if (panel) {
      const { content } = panel;
      content.activeCellIndex = index;
      await content.scrollToItem(index, 'center');
      const cell = content.widgets[index];
      await cell.ready;
      content.mode = 'edit';
      moveTo(cell.editor, line);
    }
  } else if (place.notebook) {
    await showNotebook(place.notebook, opener);
  } else if (place.file) {
    const path = labPath(place.file, serverRoot());
    if (path === null) {
      outside(place.file, opener.trans);
      return;
    }
    const widget = (await opener.commands.execute('docmanager:open', {
      path
    })) as IFileWidget | undefined;
    await widget?.context.ready;
    moveTo(widget?.content?.editor ?? null, line);
  }
}

function moveTo(editor: Editor | null, line: number): void {
  if (editor) {
    const last = Math.max(0, editor.lineCount - 1);
    editor.setCursorPosition({ line: Math.min(line, last), column: 0 });
    editor.focus();
    editor.revealPosition({ line: Math.min(line, last), column: 0 });
  }
}

function outside(file: string, trans: TranslationBundle): void {
  Notification.info(
    trans.__(
      "%1 is outside this server's folder: JupyterLab can't open it.",
      file
    )
  );
}
