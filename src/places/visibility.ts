import { INotebookTracker } from '@jupyterlab/notebook';

import { Cluster } from '../tokens';
import { indexIn, openNotebookOf } from './open';

/** Is a notebook seen at present? It is called as its kernel calls it. */
export function notebookInView(
  tracker: INotebookTracker | null,
  notebook: string | null
): boolean {
  return !document.hidden && !!openNotebookOf(tracker, notebook)?.isVisible;
}

/** Is a cell that this cluster runs seen at present, with the bar below it? */
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
    // of a long cell, its end: the bar is there
    const input = cell.inputArea?.node ?? cell.node;
    const { bottom } = input.getBoundingClientRect();
    return bottom > shown.top && bottom < shown.bottom;
  });
}
