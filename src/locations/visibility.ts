import { JupyterFrontEnd } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { Widget } from '@lumino/widgets';

import { Cluster, IKernelRecords } from '../tokens';
import { indexIn, openNotebookOf } from './open';

/** Id of the panel's widget. */
export const PANEL_ID = 'dtrain-lab-panel';

/** Id of the widget of the list of jobs. */
export const JOBS_ID = 'dtrain-lab-jobs';

/** Id of the widget of a job's view. */
export function jobViewId(job: string): string {
  return `dtrain-lab-job-${job}`;
}

/** Whether a job, given by its id, is visible at present: in its own view, or in the list of jobs. */
export function jobInView(shell: JupyterFrontEnd.IShell, job: string): boolean {
  const ids = [jobViewId(job), JOBS_ID];
  return (document.hidden ? [] : ['main', 'down']).some(area =>
    [...shell.widgets(area)].some(
      ({ id, isVisible }) => isVisible && ids.includes(id)
    )
  );
}

/** The panel, on whichever side it is; null in a front end without it. */
export function panelIn(shell: JupyterFrontEnd.IShell): Widget | null {
  for (const area of ['left', 'right']) {
    for (const widget of shell.widgets(area)) {
      if (widget.id === PANEL_ID) {
        return widget;
      }
    }
  }
  return null;
}

/** Whether a notebook, given by its path for the kernel, is visible at present. */
export function notebookInView(
  tracker: INotebookTracker | null,
  notebook: string | null,
  records: IKernelRecords
): boolean {
  const panel = openNotebookOf(tracker, notebook, records);
  return !document.hidden && !!panel?.isVisible;
}

/** Whether a cell that this cluster runs is visible at present, with its bar. */
export function cellInView(
  tracker: INotebookTracker | null,
  cluster: Cluster,
  records: IKernelRecords
): boolean {
  return cluster.running.some(running => {
    const panel = openNotebookOf(tracker, running.notebook, records);
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
