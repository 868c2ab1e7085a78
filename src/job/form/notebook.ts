import { JupyterFrontEnd } from '@jupyterlab/application';
import { ICellModel } from '@jupyterlab/cells';
import { PathExt } from '@jupyterlab/coreutils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { Contents, Kernel } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { namesIn } from '../../notebook/kernel';
import { goToCell, indexIn, openFile } from '../../locations/open';
import { IKernelRecords } from '../../tokens';
import { defaultsOf } from '../model/assignments';
import { IUnsavedCode, unsavedCode } from '../model/unsavedCode';

/** The notebook that is submitted. */
export interface INotebook extends IUnsavedCode {
  path: string;
  /** Current assignments of its tagged cell. */
  readonly parameters: string;
  /** Whether a cell is tagged "parameters" now. */
  readonly tagged: boolean;
  /** Current texts of its code cells. */
  readonly sources: readonly string[];
  /** Save it if it has changed; resolves to whether it had. */
  save(): Promise<boolean>;
  /** Call a function whenever its file is saved or deleted; returns a function that stops this. */
  onSaved(call: () => void): () => void;
  /** Names that its kernel defines; null if there is no kernel, or it is busy. */
  names(): Promise<string[] | null>;
  /**
   * Call a function when the kernel that was too busy for `names` is idle; returns a function that stops
   * this.
   */
  onIdle(call: () => void): () => void;
  open(cell?: string, line?: number): void;
}

/** Opens a notebook, at a line of a cell: the one with this id, else the one at this position. */
export type OpenNotebook = (
  path: string,
  cell?: string,
  line?: number,
  cellId?: string | null
) => Promise<NotebookPanel | undefined>;

/** Opens notebooks in this front end. */
export function openingWith(
  commands: CommandRegistry,
  records: IKernelRecords,
  trans: TranslationBundle
): OpenNotebook {
  return async (path, cell, line, cellId) => {
    const panel = await openFile<NotebookPanel>(
      records.currentFile(path),
      { commands, trans },
      'Notebook'
    );
    if (panel && cell) {
      const index = indexIn(panel, { cell, cell_id: cellId }, true);
      await goToCell(panel, index, line ?? 1);
    }
    return panel ?? undefined;
  };
}

/** The notebook of a command: the current one, else the one selected in the file browser. */
export function chosenNotebook(
  shell: JupyterFrontEnd.IShell,
  notebooks: INotebookTracker | null,
  browser: IDefaultFileBrowser | null
): string | null {
  const current = shell.currentWidget;
  const panel = notebooks?.currentWidget;
  if (panel && (current === panel || !browser)) {
    return panel.context.path;
  }
  const items = browser ? [...browser.selectedItems()] : [];
  const file = items.find(i => PathExt.extname(i.path) === '.ipynb');
  return panel?.context.path ?? file?.path ?? null;
}

/**
 * The notebook for which a form is requested: by its path, in the file browser's menu, or the selected one.
 */
export function askedNotebook(
  args: ReadonlyPartialJSONObject,
  chosen: () => string | null,
  browser: IDefaultFileBrowser | null
): string | null {
  const picked = args.fromBrowser
    ? [...(browser?.selectedItems() ?? [])][0]?.path
    : undefined;
  return (args.path as string | undefined) ?? picked ?? chosen();
}

/** Dependencies for opening a form's notebook. */
export interface IOpening {
  tracker: INotebookTracker | null;
  contents: Contents.IManager;
  open: OpenNotebook;
  /** Resolves when JupyterLab's layout, with the notebook's own tab, is restored. */
  restored: Promise<unknown>;
  /** Called if it was not open before, and is now in front of the form. */
  opened(): void;
}

/**
 * A notebook for a form, opened if necessary.
 *
 * @throws ServerConnection.ResponseError if it does not exist
 */
export async function openedNotebook(
  path: string,
  opening: IOpening
): Promise<INotebook> {
  const { tracker, contents, open } = opening;
  const panel = (): NotebookPanel | undefined =>
    tracker?.find(p => p.context.path === path);
  await opening.restored;
  if (!panel()) {
    // for a missing file JupyterLab would open a tab and a dialog
    await contents.get(path, { content: false });
    await open(path);
    opening.opened();
  }
  await panel()?.context.ready;
  const code = await unsavedCode(path, panel, tracker, contents);
  return notebookOf(path, tracker, contents, open, code);
}

/** A notebook for a form, also after its tab is closed and reopened. */
function notebookOf(
  path: string,
  tracker: INotebookTracker | null,
  contents: Contents.IManager,
  open: OpenNotebook,
  code: IUnsavedCode
): INotebook {
  const panel = (): NotebookPanel | undefined =>
    tracker?.find(p => p.context.path === path);
  /** What was last known: its tab may be closed. */
  let parameters = '';
  let tagged = false;
  let sources: readonly string[] = [];
  const waiting = new Set<() => void>();
  /** Kernel that was busy when its names were requested. */
  let busy: Kernel.IKernelConnection | null = null;
  const tellIdle = (
    kernel: Kernel.IKernelConnection,
    status: Kernel.Status
  ): void => {
    if (status === 'idle') {
      kernel.statusChanged.disconnect(tellIdle);
      busy = null;
      waiting.forEach(call => call());
    }
  };
  return {
    path,
    get parameters(): string {
      const open = panel();
      if (open?.context.isReady) {
        parameters = parametersIn(open);
      }
      return parameters;
    },
    get tagged(): boolean {
      const open = panel();
      if (open?.context.isReady) {
        tagged = taggedCell(open) !== null;
      }
      return tagged;
    },
    get sources(): readonly string[] {
      const open = panel();
      if (open?.context.isReady) {
        sources = sourcesIn(open);
      }
      return sources;
    },
    get unsaved(): boolean {
      return code.unsaved;
    },
    onUnsaved: code.onUnsaved,
    save: async () => {
      const context = panel()?.context;
      if (!context?.model.dirty) {
        return false;
      }
      await context.save();
      return true;
    },
    onSaved: call => {
      const changed = (_: unknown, change: Contents.IChangedArgs): void => {
        const gone = change.type === 'delete' && change.oldValue?.path;
        if (
          (change.type === 'save' && change.newValue?.path === path) ||
          (gone && (path === gone || path.startsWith(`${gone}/`)))
        ) {
          call();
        }
      };
      contents.fileChanged.connect(changed);
      return () => {
        contents.fileChanged.disconnect(changed);
      };
    },
    names: async () => {
      const kernel = panel()?.sessionContext.session?.kernel;
      if (!kernel) {
        return null;
      }
      if (await isIdle(kernel)) {
        return namesIn(kernel);
      }
      if (waiting.size && busy !== kernel) {
        busy?.statusChanged.disconnect(tellIdle);
        busy = kernel;
        kernel.statusChanged.connect(tellIdle);
      }
      return null;
    },
    onIdle: call => {
      waiting.add(call);
      return () => {
        waiting.delete(call);
        if (!waiting.size) {
          busy?.statusChanged.disconnect(tellIdle);
          busy = null;
        }
      };
    },
    open: (cell, line) => void open(path, cell, line)
  };
}

/** Whether it is idle, or will be soon, as after a short request of JupyterLab. */
function isIdle(kernel: Kernel.IKernelConnection): Promise<boolean> {
  if (kernel.status === 'idle') {
    return Promise.resolve(true);
  }
  return new Promise(resolve => {
    const end = (idle: boolean): void => {
      window.clearTimeout(timer);
      kernel.statusChanged.disconnect(look);
      resolve(idle);
    };
    const look = (_: unknown, status: Kernel.Status): void => {
      if (status === 'idle') {
        end(true);
      }
    };
    const timer = window.setTimeout(() => end(false), IDLE_WITHIN_MS);
    kernel.statusChanged.connect(look);
  });
}

const IDLE_WITHIN_MS = 1000;

function parametersIn(panel: NotebookPanel): string {
  return defaultsOf(taggedCell(panel)?.sharedModel.getSource() ?? '');
}

/** The cell tagged `parameters`, the last one of several; null if there is none. */
export function taggedCell(panel: NotebookPanel): ICellModel | null {
  const cells = panel.content.model?.cells;
  let tagged: ICellModel | null = null;
  for (let i = 0; cells && i < cells.length; i++) {
    const cell = cells.get(i);
    const tags = (cell.getMetadata('tags') as string[] | undefined) ?? [];
    if (tags.includes('parameters')) {
      tagged = cell;
    }
  }
  return tagged;
}

/** Texts of its code cells. */
export function sourcesIn(panel: NotebookPanel): string[] {
  const cells = panel.content.model?.cells;
  const sources: string[] = [];
  for (let i = 0; cells && i < cells.length; i++) {
    const cell = cells.get(i);
    if (cell.type === 'code') {
      sources.push(cell.sharedModel.getSource());
    }
  }
  return sources;
}
