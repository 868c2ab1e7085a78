import { INotebookTracker } from '@jupyterlab/notebook';

import { Cluster } from '../tokens';
import { indexIn, openNotebookOf } from './open';

/** Whether a notebook, given by its path for the kernel, is visible at present. */
export function notebookInView(
  tracker: INotebookTracker | null,
  notebook: string | null
): boolean {
  return !document.hidden && !!openNotebookOf(tracker, notebook)?.isVisible;
}

/** Whether a cell that this cluster runs is visible at present, with its bar. */
export function cellInView(
  tracker: INotebookTracker | null,
  cluster: Cluster
): boolean {
  return cluster.running.some(running => {
    const panel = openNotebookOf(tracker, running.notebook);
    if (!panel?.isVisible) {
      return false;
    }
    const { content } = panel;
    const cell = content.widgets[indexIn(panel, running)];
    if (!cell?.isAttached) {
      return false;
    }
    const shown = content.node.getBoundingClientRect();
    // for a long cell its end, where the bar is
    const input = cell.inputArea?.node ?? cell.node;
    const { bottom } = input.getBoundingClientRect();
    return bottom > shown.top && bottom < shown.bottom;
  });
}
