import { Contents } from '@jupyterlab/services';
import { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import { IKernelRecords, KernelUse, OpenNotebookPanel } from '../tokens';
import { isNotebook, labPath } from './location';
import { serverRoot } from './serverRoot';

/** What kernels have recorded, and where notebooks are now, as far as this page has learned it. */
export class KernelRecords implements IKernelRecords, IDisposable {
  readonly changed = new Signal<this, string>(this);

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this._recorded.clear();
      this._renamed.clear();
      Signal.clearData(this);
    }
  }

  note(kernel: string, use: KernelUse): void {
    const before = this._recorded.get(kernel);
    if (before?.notebook !== use.notebook || before?.cluster !== use.cluster) {
      this._recorded.set(kernel, use);
      this.changed.emit(kernel);
    }
  }

  forget(kernel: string): void {
    this._recorded.delete(kernel);
  }

  lastCluster({ sessionContext }: OpenNotebookPanel): string | null {
    const kernel = this._kernelOf(sessionContext);
    return (kernel && this._recorded.get(kernel)?.cluster) || null;
  }

  kernelPath(panel: OpenNotebookPanel): string {
    const { path } = panel.context;
    const kernel = this._kernelOf(panel.sessionContext);
    if (!kernel) {
      return path;
    }
    const notebook = this._recorded.get(kernel)?.notebook;
    if (notebook) {
      return labPath(notebook, serverRoot()) ?? notebook;
    }
    const found = this._paths.get(panel);
    if (found?.kernel === kernel) {
      return found.path;
    }
    this._paths.set(panel, { kernel, path });
    return path;
  }

  notePath(panel: OpenNotebookPanel): void {
    this.noteCurrentPath(this.kernelPath(panel), panel.context.path);
  }

  noteCurrentPath(former: string, path: string): void {
    if (isNotebook(path, former, serverRoot())) {
      this._renamed.delete(path);
      this._renamed.delete(former);
      return;
    }
    // its other names: before it was renamed, and its kernel started again, it had another one
    const before = this.currentPath(former);
    for (const [name, now] of [...this._renamed]) {
      if (now === before) {
        this._setPath(name, path);
      }
    }
    this._setPath(former, path);
  }

  currentPath(notebook: string): string {
    const root = serverRoot();
    for (const [former, path] of this._renamed) {
      if (isNotebook(former, notebook, root)) {
        return path;
      }
    }
    return notebook;
  }

  currentFile(file: string): string {
    return labPath(file, serverRoot()) === null ? file : this.currentPath(file);
  }

  notebookName(notebook: string): string {
    return this.currentPath(notebook).split('/').pop() ?? notebook;
  }

  /**
   * The kernel of a notebook, or its last one that is known: a kernel may end with its server while the ranks go on,
   * and the next one takes over its cluster.
   */
  private _kernelOf(
    sessionContext: OpenNotebookPanel['sessionContext']
  ): string | undefined {
    const kernel = sessionContext.session?.kernel?.id;
    if (kernel) {
      this._kernels.set(sessionContext, kernel);
    }
    return kernel ?? this._kernels.get(sessionContext);
  }

  private _setPath(name: string, path: string): void {
    if (isNotebook(path, name, serverRoot())) {
      this._renamed.delete(name);
    } else {
      this._renamed.set(name, path);
    }
  }

  private _isDisposed = false;
  /** Notebook → the id of its kernel, also when that has ended. */
  private _kernels = new WeakMap<OpenNotebookPanel['sessionContext'], string>();
  /** Panel → its kernel, and the path that the notebook had when this kernel was first seen. */
  private _paths = new WeakMap<
    OpenNotebookPanel,
    { kernel: string; path: string }
  >();
  /** Id of a kernel → what it has recorded at the server. */
  private _recorded = new Map<string, KernelUse>();
  /** Path of a notebook as a kernel had it → its path now, where that differs; jobs may name it for long. */
  private _renamed = new Map<string, string>();
}

/** Note renames in this page, also of notebooks that are closed or have no kernel, whose clusters have ended. */
export function followRenames(
  records: Pick<IKernelRecords, 'noteCurrentPath'>,
  contents: Pick<Contents.IManager, 'fileChanged'>
): void {
  contents.fileChanged.connect((_, { type, oldValue, newValue }) => {
    if (type === 'rename' && oldValue?.path && newValue?.path) {
      records.noteCurrentPath(oldValue.path, newValue.path);
    }
  });
}
