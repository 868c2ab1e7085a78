import { INotebookTracker } from '@jupyterlab/notebook';

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
