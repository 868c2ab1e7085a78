import { IEditorTracker } from '@jupyterlab/fileeditor';

import { EditorSearch } from '../../jupyterlab/debuggerSources';

/** The editor of a file that is open in JupyterLab. */
export type FileWidget = NonNullable<IEditorTracker['currentWidget']>;

/** The path of an open Python file on the server's machine; empty for other files, and before it is loaded. */
export function pathOf(
  { context, isDisposed }: FileWidget,
  root: string
): string {
  const folder = root.replace(/\/+$/, '');
  const isPython = /\.py$/.test(context.localPath);
  return folder && isPython && context.isReady && !isDisposed
    ? `${folder}/${context.localPath}`
    : '';
}

/**
 * Show a stop in a file where it is open.
 *
 * JupyterLab finds a file's editor only if the file itself is what is debugged: it compares the path of the
 * session, which is the notebook's, and a hash of the text. For other files it opens a read-only copy.
 *
 * @param search - JupyterLab's search for editors
 * @param files - editors of open files
 * @param root - gives the server's folder on its machine; empty if the page doesn't know it
 * @param isOn - returns whether ranks are debugged
 * @param activate - brings a widget to the front, by its id
 */
export function showStopsInOpenFiles(
  search: EditorSearch,
  files: Pick<IEditorTracker, 'find'>,
  root: () => string,
  isOn: () => boolean,
  activate: (id: string) => void
): void {
  search.add('open files', (find, params) => {
    const { source, focus } = params;
    const open =
      source && isOn()
        ? files.find(widget => pathOf(widget, root()) === source)
        : undefined;
    if (!open) {
      return find(params);
    }
    if (focus) {
      activate(open.id);
    }
    const { editor, model } = open.content;
    return [
      {
        get: () => (open.isDisposed ? null : editor),
        reveal: async () => activate(open.id),
        src: model.sharedModel
      }
    ];
  });
}
