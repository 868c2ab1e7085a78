import { PageConfig } from '@jupyterlab/coreutils';
import { NotebookPanel } from '@jupyterlab/notebook';
import { Signal } from '@lumino/signaling';

import { KernelUse } from '../tokens';
import { isNotebook, labPath } from './location';

/** Panel → its kernel, and the path that the notebook had when this kernel was first seen. */
const paths = new WeakMap<NotebookPanel, { kernel: string; path: string }>();

/** Id of a kernel → what it has recorded at the server: its notebook, and the cluster that it used last. */
const recorded = new Map<string, KernelUse>();

/** Path of a notebook as its kernel has it → its path now, where that differs. */
const renamed = new Map<string, string>();

/** Emitted with a kernel's id when what the kernel has recorded becomes known or changes. */
export const kernelUseChanged = new Signal<object, string>({});

/**
 * The server's folder; empty if the page does not know it. JupyterLab's own `serverRoot` may begin with "~".
 */
export function serverRoot(): string {
  const root =
    PageConfig.getOption('dtrainRoot') || PageConfig.getOption('serverRoot');
  return root.startsWith('/') ? root : '';
}

/** Keep what a kernel has recorded. */
export function noteKernelUse(kernel: string, use: KernelUse): void {
  const before = recorded.get(kernel);
  if (before?.notebook !== use.notebook || before?.cluster !== use.cluster) {
    recorded.set(kernel, use);
    kernelUseChanged.emit(kernel);
  }
}

/** Id of the cluster that a notebook's kernel used last, also where it has ended; null if there is none. */
export function lastCluster(panel: NotebookPanel): string | null {
  const kernel = panel.sessionContext.session?.kernel?.id;
  return (kernel && recorded.get(kernel)?.cluster) || null;
}

/**
 * A notebook's path as its kernel knows it: after a rename still the old one, as long as the same kernel
 * runs.
 *
 * Clusters use this path for their notebooks.
 */
export function kernelPath(panel: NotebookPanel): string {
  const { path } = panel.context;
  const kernel = panel.sessionContext.session?.kernel?.id;
  if (!kernel) {
    return path;
  }
  const notebook = recorded.get(kernel)?.notebook;
  if (notebook) {
    return labPath(notebook, serverRoot()) ?? notebook;
  }
  const found = paths.get(panel);
  if (found?.kernel === kernel) {
    return found.path;
  }
  paths.set(panel, { kernel, path });
  return path;
}

/** Note the path that an open notebook has now, for names of it that clusters and jobs have from before. */
export function notePath(panel: NotebookPanel): void {
  noteCurrentPath(kernelPath(panel), panel.context.path);
}

/**
 * Note where a notebook is now.
 *
 * @param former - its path as its kernel has it
 * @param path - its path now
 */
export function noteCurrentPath(former: string, path: string): void {
  const root = serverRoot();
  if (isNotebook(path, former, root)) {
    renamed.delete(path);
  } else {
    renamed.set(former, path);
  }
}

/** The path now of the notebook that a kernel or a job calls by this name. */
export function currentPath(notebook: string): string {
  const root = serverRoot();
  for (const [former, path] of renamed) {
    if (isNotebook(former, notebook, root)) {
      return path;
    }
  }
  return notebook;
}

/** The same of a file: one outside the server's folder is no notebook of the same name inside it. */
export function currentFile(file: string): string {
  return labPath(file, serverRoot()) === null ? file : currentPath(file);
}

/** The name now of the notebook that a kernel or a job calls by this path. */
export function notebookName(notebook: string): string {
  return currentPath(notebook).split('/').pop() ?? notebook;
}
