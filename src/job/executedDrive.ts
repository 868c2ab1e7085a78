import { JupyterFrontEnd } from '@jupyterlab/application';
import { PathExt } from '@jupyterlab/coreutils';
import { DocumentWidget } from '@jupyterlab/docregistry';
import { INotebookContent } from '@jupyterlab/nbformat';
import { INotebookTracker } from '@jupyterlab/notebook';
import { Contents, ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';
import { ISignal, Signal } from '@lumino/signaling';

import { IJobs, Job } from '../tokens';
import { withCause, withPlaces } from './executedErrors';
import { DRIVE, isExecuted } from './model/executedPaths';

/** Path under which a job's executed notebook is opened; distinguishes its tab from the notebook's own. */
export function executedPath(
  job: Pick<Job, 'id' | 'name' | 'notebook'>
): string {
  const name = PathExt.basename(job.notebook, '.ipynb');
  return `${DRIVE}:${job.id}/${name} (${job.name}).ipynb`;
}

/** Close the executed notebooks of jobs that were deleted: nothing can load them again, as after a reload. */
export function closeExecuted(
  shell: Pick<JupyterFrontEnd.IShell, 'widgets'>,
  ids: readonly string[]
): void {
  for (const widget of [...shell.widgets('main')]) {
    const path = widget instanceof DocumentWidget ? widget.context.path : '';
    if (ids.some(id => path.startsWith(`${DRIVE}:${id}/`))) {
      widget.dispose(); // to close it would ask to save what is read-only
    }
  }
}

/**
 * Show executed notebooks without a kernel: nothing is to be run there, and a kernel's own metadata would make
 * an untouched one modified.
 */
export function withoutKernel(notebooks: INotebookTracker): void {
  notebooks.widgetAdded.connect((_, { context }) => {
    if (isExecuted(context.path)) {
      const { sessionContext } = context;
      const preference = sessionContext.kernelPreference;
      sessionContext.kernelPreference = { ...preference, shouldStart: false };
    }
  });
}

/**
 * Read-only drive for executed notebooks of jobs, whose folders may be outside the server's root, or on
 * another machine.
 */
export class ExecutedDrive implements Contents.IDrive {
  constructor(
    private _jobs: IJobs,
    readonly serverSettings: ServerConnection.ISettings,
    private _trans: TranslationBundle
  ) {}

  readonly name = DRIVE;

  get fileChanged(): ISignal<this, Contents.IChangedArgs> {
    return this._fileChanged;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    Signal.clearData(this);
  }

  async get(
    localPath: string,
    options?: Contents.IFetchOptions
  ): Promise<Contents.IModel> {
    const [id, name] = localPath.split('/');
    const now = new Date().toISOString();
    const model = {
      path: localPath,
      name: name ?? id,
      writable: false,
      created: now,
      last_modified: now,
      mimetype: ''
    };
    if (!name) {
      const format = 'json';
      return { ...model, type: 'directory', format, content: [] };
    }
    const content =
      options?.content === false
        ? null
        : withMetadata(await this._executed(id));
    return { ...model, type: 'notebook', format: 'json', content };
  }

  /** The notebook of a job; with the error of another rank, which its output lacks. */
  private async _executed(id: string): Promise<INotebookContent> {
    const [content, { error }] = await Promise.all([
      this._jobs.executed(id),
      this._jobs.get(id)
    ]);
    const caused =
      error && error.rank > 0
        ? withCause(content, error, this._trans)
        : content;
    return withPlaces(caused, this._trans);
  }

  getDownloadUrl(): Promise<string> {
    return refused();
  }

  newUntitled(): Promise<Contents.IModel> {
    return refused();
  }

  delete(): Promise<void> {
    return refused();
  }

  rename(): Promise<Contents.IModel> {
    return refused();
  }

  save(): Promise<Contents.IModel> {
    return refused();
  }

  copy(): Promise<Contents.IModel> {
    return refused();
  }

  createCheckpoint(): Promise<Contents.ICheckpointModel> {
    return refused();
  }

  listCheckpoints(): Promise<Contents.ICheckpointModel[]> {
    return Promise.resolve([]);
  }

  restoreCheckpoint(): Promise<void> {
    return refused();
  }

  deleteCheckpoint(): Promise<void> {
    return refused();
  }

  private _isDisposed = false;
  private _fileChanged = new Signal<this, Contents.IChangedArgs>(this);
}

/** A notebook with the metadata that JupyterLab adds where they are missing: an untouched one would be modified. */
function withMetadata(notebook: INotebookContent): INotebookContent {
  const kernelspec = { name: '', display_name: '' };
  const metadata = { kernelspec, language_info: { name: 'python' } };
  return { ...notebook, metadata: { ...metadata, ...notebook.metadata } };
}

function refused(): Promise<never> {
  return Promise.reject(
    new Error('An executed notebook is read-only: save it under another name.')
  );
}
