import { NotebookPanel } from '@jupyterlab/notebook';

/** Panel → its kernel, and the path that the notebook had when this kernel was first seen. */
const known = new WeakMap<NotebookPanel, { kernel: string; path: string }>();

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
  const found = known.get(panel);
  if (found?.kernel === kernel) {
    return found.path;
  }
  known.set(panel, { kernel, path });
  return path;
}
