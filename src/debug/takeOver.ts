import { NotebookPanel } from '@jupyterlab/notebook';

import { attachedTo } from '../cluster/model/notebookCluster';
import { openNotebookOf } from '../locations/open';
import { formatRanks } from '../metrics/format';
import { Cluster } from '../tokens';
import { tellBriefly } from '../ui/text/toast';
import { debuggerOf } from './debugButton';
import { debuggedNotebook } from './model/notebookOf';
import { untilOn } from './model/waitForRanks';
import { ITakeOver } from './model/world';
import { IDebugParts, isOnIn, turnOffOthers } from './startDebugger';

type Parts = Pick<
  IDebugParts,
  | 'app'
  | 'clusters'
  | 'debug'
  | 'model'
  | 'queue'
  | 'records'
  | 'tracker'
  | 'trans'
>;

/** The way from a refused debugger to the ranks. */
export function takeOver(parts: Parts): ITakeOver {
  const { clusters, debug, records, tracker, trans } = parts;
  const here = (): { panel: NotebookPanel; cluster: Cluster } | null => {
    const panel = debuggedNotebook(debug, tracker);
    const cluster =
      panel &&
      attachedTo(
        clusters.clusters,
        records.kernelPath(panel),
        records.lastCluster(panel)
      );
    return panel && cluster ? { panel, cluster } : null;
  };
  return {
    paused: () => pausedOf(here()?.cluster),
    execute: async () => {
      const found = here();
      if (!found) {
        throw new Error(trans.__('This notebook uses no cluster.'));
      }
      await debugIn(found.panel, found.cluster, parts);
    }
  };
}

async function debugIn(
  panel: NotebookPanel,
  cluster: Cluster,
  parts: Parts
): Promise<void> {
  const { app, model, queue, trans } = parts;
  const holder = await holderOf(cluster, panel, parts);
  if (!holder) {
    throw new Error(
      trans.__(
        'The ranks are not debugged from a notebook in this window: turn the debugger off where it is on.'
      )
    );
  }
  const paused = pausedOf(cluster);
  if (paused.length) {
    app.shell.activateById(holder.id);
    tellBriefly(
      trans._n(
        'Rank %2 is paused here. Continue it before you debug in %3.',
        'Ranks %2 are paused here. Continue them before you debug in %3.',
        paused.length,
        formatRanks(paused),
        panel.title.label
      ),
      'info'
    );
    return;
  }
  await turnOffOthers(cluster, panel, parts);
  app.shell.activateById(panel.id);
  await queue.query(panel);
  await queue.idle();
  model.refresh(); // refused so far, the kernel tries again when asked
  await untilOn(model, trans, () => isOnIn(panel, parts));
}

/** The open notebook whose debugger has the ranks; null if none has. */
async function holderOf(
  { notebooks }: Cluster,
  panel: NotebookPanel,
  { records, tracker }: Pick<Parts, 'records' | 'tracker'>
): Promise<NotebookPanel | null> {
  for (const notebook of notebooks) {
    const other = openNotebookOf(tracker, notebook, records);
    if (other && other !== panel && (await debuggerOf(other)).holdsRanks) {
      return other;
    }
  }
  return null;
}

function pausedOf(cluster: Pick<Cluster, 'ranks'> | undefined): number[] {
  return (cluster?.ranks ?? [])
    .filter(({ state }) => state === 'paused')
    .map(({ rank }) => rank);
}
