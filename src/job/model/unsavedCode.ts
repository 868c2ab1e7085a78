import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { ICell, INotebookContent, isCode } from '@jupyterlab/nbformat';
import { Contents } from '@jupyterlab/services';

/** Interval at which edits are looked at, ms. */
const LOOK_EVERY = 200;

/** Whether a notebook has code that its file lacks; output and other metadata don't count. */
export interface IUnsavedCode {
  readonly unsaved: boolean;
  /** Call a function whenever `unsaved` may have changed; returns a function that stops this. */
  onUnsaved(call: () => void): () => void;
}

/**
 * Compares an open notebook with its file.
 *
 * @param find - the open notebook; undefined while its tab is closed
 * @throws ServerConnection.ResponseError if the file can't be read
 */
export async function unsavedCode(
  path: string,
  find: () => NotebookPanel | undefined,
  tracker: Pick<INotebookTracker, 'currentChanged'> | null,
  contents: Pick<Contents.IManager, 'get' | 'fileChanged'>
): Promise<IUnsavedCode> {
  const shown = (): NotebookPanel['context'] | null => {
    const context = find()?.context;
    return context?.isReady ? context : null;
  };
  const now = (): string => {
    const model = shown()?.model;
    return model ? codeOf(model.toJSON() as INotebookContent) : saved;
  };
  let saved = '';
  if (shown()?.model.dirty) {
    const file = await contents.get(path, { type: 'notebook', content: true });
    saved = codeOf(file.content as INotebookContent);
  } else {
    saved = now();
  }
  return {
    get unsaved(): boolean {
      return !!shown()?.model.dirty && now() !== saved;
    },
    onUnsaved: call => {
      let timer = 0;
      const later = (): void => {
        timer ||= window.setTimeout(() => {
          timer = 0;
          call();
        }, LOOK_EVERY);
      };
      let model = shown()?.model;
      const watch = (): void => {
        model?.contentChanged.disconnect(later);
        model = shown()?.model;
        model?.contentChanged.connect(later);
        later();
      };
      const changed = (_: unknown, change: Contents.IChangedArgs): void => {
        if (change.type === 'save' && change.newValue?.path === path) {
          saved = now();
          call();
        }
      };
      model?.contentChanged.connect(later);
      tracker?.currentChanged.connect(watch); // its tab may be closed, and opened again
      contents.fileChanged.connect(changed);
      return () => {
        window.clearTimeout(timer);
        model?.contentChanged.disconnect(later);
        tracker?.currentChanged.disconnect(watch);
        contents.fileChanged.disconnect(changed);
      };
    }
  };
}

/** Code cells of a notebook with their tags, as one text; running the last cell adds an empty one, which says nothing. */
function codeOf(notebook: INotebookContent): string {
  const cells = notebook.cells.filter(isCode).map((cell: ICell) => {
    const { source, metadata } = cell;
    const text = Array.isArray(source) ? source.join('') : source;
    return { text, tags: metadata.tags ?? [] };
  });
  return JSON.stringify(cells.filter(({ text }) => text.trim()));
}
