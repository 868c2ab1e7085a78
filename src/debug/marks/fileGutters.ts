import { Debugger, IDebugger } from '@jupyterlab/debugger';
import { IEditorTracker } from '@jupyterlab/fileeditor';

import { DebugModel } from '../model/model';
import { FileWidget, pathOf } from './openFiles';

/** The gutter of a file, and for what it was made. */
interface IGutter {
  key: string;
  /** Whether the editor had line numbers before. */
  numbers: boolean;
  handler: Debugger.EditorHandler;
}

/**
 * Gutters for breakpoints in Python files that are open in JupyterLab's file editor, while ranks are debugged.
 *
 * JupyterLab itself has them in the read-only copy only that it opens where a rank has stopped, or from Kernel
 * Sources. Its handler of an editor belongs to one debug session, so gutters are made anew for each notebook.
 */
export class FileGutters {
  /**
   * @param _root - gives the server's folder on its machine; empty if the page doesn't know it.
   */
  constructor(
    private _debug: IDebugger,
    private _model: Pick<DebugModel, 'view' | 'changed'>,
    private _files: IEditorTracker,
    private _root: () => string
  ) {
    _model.changed.connect(this.follow, this);
    _files.widgetAdded.connect((_, widget) => {
      widget.context.pathChanged.connect(this.follow, this);
      void widget.context.ready.then(() => this.follow());
      widget.disposed.connect(() => {
        this._gutters.get(widget)?.handler.dispose();
        this._gutters.delete(widget);
      });
    });
  }

  /** Make, or remove, the gutters as the debugger and its notebook are now. */
  follow(): void {
    this._files.forEach(widget => this._update(widget));
  }

  private _update(widget: FileWidget): void {
    const before = this._gutters.get(widget);
    const path = this._pathOf(widget);
    const session = this._debug.session?.connection?.id;
    const key = path && session ? `${session} ${path}` : '';
    if (key === (before?.key ?? '')) {
      return;
    }
    const { editor, model } = widget.content;
    if (before) {
      before.handler.dispose();
      editor.setOption('lineNumbers', before.numbers);
      this._gutters.delete(widget);
    }
    if (key) {
      this._gutters.set(widget, {
        key,
        numbers: editor.getOption('lineNumbers') !== false,
        handler: new Debugger.EditorHandler({
          debuggerService: this._debug,
          editorReady: () => Promise.resolve(editor),
          getEditor: () => (widget.isDisposed ? null : editor),
          path,
          src: model.sharedModel
        })
      });
    }
  }

  /** A file's path on its machine; empty where it gets no gutter. */
  private _pathOf(widget: FileWidget): string {
    // its own kernel is debugged: JupyterLab has made a gutter
    const own = widget.node.dataset.jpDebugger === 'true';
    const { view } = this._model;
    return view?.on && !own ? pathOf(widget, this._root()) : '';
  }

  private _gutters = new Map<FileWidget, IGutter>();
}
