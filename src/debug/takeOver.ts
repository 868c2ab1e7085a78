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
  const execute = async (): Promise<void> => {
    const found = here();
    if (!found) {
      throw new Error(trans.__('This notebook uses no cluster.'));
    }
    await debugIn(found.panel, found.cluster, parts);
  };
  let pending: Promise<void> | null = null;
  return {
    holder: async () => {
      const found = here();
      const holder =
        found && (await holderOf(found.cluster, found.panel, parts));
      return holder?.title.label ?? null;
    },
    paused: () => pausedOf(here()?.cluster),
    // the button is drawn anew when another notebook is in front meanwhile, and may be pressed again
    execute: () =>
      (pending ??= execute().finally(() => {
        pending = null;
      }))
  };
}

async function debugIn(
  panel: NotebookPanel,
  cluster: Cluster,
  parts: Parts
): Promise<void> {
  const { app, queue, trans } = parts;
  const holder = await holderOf(cluster, panel, parts);
  if (!holder) {
    // whoever debugged the ranks may have let them go since; if not, the kernel says who does
    await tryAgain(panel, parts);
    return;
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
  await tryAgain(panel, parts);
}

/** Refused so far, the kernel tries again when asked. */
async function tryAgain(
  panel: NotebookPanel,
  parts: Pick<Parts, 'debug' | 'model' | 'trans'>
): Promise<void> {
  const { model, trans } = parts;
  model.refresh();
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
