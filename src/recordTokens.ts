import type { NotebookPanel } from '@jupyterlab/notebook';
import { Token } from '@lumino/coreutils';
import { ISignal } from '@lumino/signaling';

import type { KernelUse } from './api/schemas';

/** An open notebook and its kernel. */
export type OpenNotebookPanel = Pick<
  NotebookPanel,
  'context' | 'sessionContext'
>;

/** What the kernels of notebooks have recorded at the server, and where these notebooks are now. */
export interface IKernelRecords {
  /** Emitted with a kernel's id when what it has recorded becomes known or changes. */
  readonly changed: ISignal<IKernelRecords, string>;
  /** Id of the cluster that a notebook's kernel used last, also where it has ended; null if there is none. */
  lastCluster(panel: OpenNotebookPanel): string | null;
  /**
   * A notebook's path as its kernel knows it: after a rename still the old one, as long as the same kernel runs.
   * Clusters use this path for their notebooks.
   */
  kernelPath(panel: OpenNotebookPanel): string;
  /** The path now of the notebook that a kernel or a job calls by this name. */
  currentPath(notebook: string): string;
  /** The same of a file: one outside the server's folder is no notebook of the same name inside it. */
  currentFile(file: string): string;
  /** The name now of the notebook that a kernel or a job calls by this path. */
  notebookName(notebook: string): string;
  /** Keep what a kernel has recorded. */
  note(kernel: string, use: KernelUse): void;
  /** Forget what a kernel has recorded: no notebook that is open uses it. */
  forget(kernel: string): void;
  /** Note the path that an open notebook has now, for names of it that clusters and jobs have from before. */
  notePath(panel: OpenNotebookPanel): void;
  /** Note where a notebook is now. `former`: its path as its kernel has it. */
  noteCurrentPath(former: string, path: string): void;
}

export const IKernelRecords = new Token<IKernelRecords>(
  'dtrain-lab:IKernelRecords',
  'What kernels have recorded, and where their notebooks are now.'
);
