import { Cell } from '@jupyterlab/cells';
import { IDebugger } from '@jupyterlab/debugger';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';

import { Cluster } from '../../tokens';

/**
 * The notebook whose cell a rank runs, else any that runs a cell here, else the first that uses the cluster.
 */
export function notebookOf(
  cluster: Pick<Cluster, 'running' | 'notebooks'>,
  rank: number | undefined
): string | null {
  const { running } = cluster;
  const its = running.find(c => c.ranks.includes(rank ?? -1) && c.notebook);
  const cell = its ?? running.find(c => c.notebook);
  return cell?.notebook ?? cluster.notebooks[0] ?? null;
}

/** Texts of the code cells of all open notebooks. */
export function codeOf(tracker: INotebookTracker): string[] {
  const sources: string[] = [];
  tracker.forEach(({ content }) => {
    for (const { model } of content.widgets) {
      if (model.type === 'code') {
        sources.push(model.sharedModel.getSource());
      }
    }
  });
  return sources;
}

/** The notebook at whose kernel JupyterLab's debug session is. */
export function debuggedNotebook(
  debug: Pick<IDebugger, 'session'>,
  tracker: Pick<INotebookTracker, 'find'>
): NotebookPanel | undefined {
  const session = debug.session?.connection?.id;
  return session
    ? tracker.find(panel => panel.sessionContext.session?.id === session)
    : undefined;
}

/** Code cells of a notebook. */
export function codeCellsOf(panel: NotebookPanel | undefined): Cell[] {
  return (panel?.content.widgets ?? []).filter(
    cell => cell.model.type === 'code'
  );
}

/** Code cells of the notebook at whose kernel JupyterLab's debug session is, whatever their text, and their text. */
export function debuggedCells(
  debug: Pick<IDebugger, 'session'>,
  tracker: Pick<INotebookTracker, 'find'>
): { key: object; text: string }[] {
  return codeCellsOf(debuggedNotebook(debug, tracker)).map(({ model }) => ({
    key: model,
    text: model.sharedModel.getSource()
  }));
}
