import { TranslationBundle } from '@jupyterlab/translation';

import { ENDED } from '../../api/states';
import { listed } from '../../metrics/format';
import { isNotebook } from '../../locations/location';
import { serverRoot } from '../../locations/serverRoot';
import {
  Cluster,
  ICurrentNotebook,
  IKernelRecords,
  OpenNotebookPanel
} from '../../tokens';

/**
 * The cluster that a notebook uses: the attached one that its kernel used last, and no other one once that has ended,
 * as the kernel refuses cells then. Of a kernel that has recorded none, the only attached one, as it takes that, but
 * asks for a choice between several; else the one that still runs a cell of the notebook, as after the end of its
 * kernel.
 *
 * @param path - the notebook's, as its kernel has it: `IKernelRecords.kernelPath`.
 * @param last - id of the cluster that its kernel used last: `IKernelRecords.lastCluster`.
 */
export function attachedTo(
  clusters: readonly Cluster[],
  path: string,
  last: string | null = null
): Cluster | null {
  const root = serverRoot();
  const own = (notebook: string | null): boolean =>
    notebook !== null && isNotebook(path, notebook, root);
  const naming = clusters.filter(cluster => cluster.notebooks.some(own));
  const running = clusters.filter(cluster =>
    cluster.running.some(cell => own(cell.notebook))
  );
  if (last !== null) {
    return [...naming, ...running].find(({ id }) => id === last) ?? null;
  }
  const living = naming.filter(isLiving);
  return living.length > 1
    ? null
    : (living[0] ?? naming.pop() ?? running.pop() ?? null);
}

/** That notebooks other than the current one use a cluster, or have variables there; empty if none does. */
export function othersText(
  cluster: Pick<Cluster, 'former_notebooks' | 'notebooks'>,
  { path, startedAs }: Pick<ICurrentNotebook, 'path' | 'startedAs'>,
  records: Pick<IKernelRecords, 'notebookName'>,
  trans: TranslationBundle
): string {
  const own = startedAs ?? path;
  const others = (notebooks: readonly string[]): string[] =>
    notebooks
      .filter(notebook => !own || !isNotebook(own, notebook, serverRoot()))
      .map(notebook => records.notebookName(notebook));
  const names = others(cluster.notebooks);
  const former = others(cluster.former_notebooks);
  const uses = names.length
    ? trans._n(
        '%2 uses it, too.',
        '%2 use it, too.',
        names.length,
        listed(names, trans)
      )
    : '';
  const used = former.length
    ? trans.__('%1 used it earlier.', listed(former, trans))
    : '';
  return [uses, used].filter(Boolean).join(' ');
}

/**
 * The cluster that a notebook's next `%%distributed` cell runs on: its own, or the one that was started for it
 * in the panel, else the only one there is, which the kernel takes by itself then. Null where the cell would
 * start one, or ask for a choice, as it does where the notebook's own cluster has ended.
 *
 * @param path - the notebook's, as its kernel has it: `IKernelRecords.kernelPath`.
 * @param last - id of the cluster that its kernel used last: `IKernelRecords.lastCluster`.
 */
export function usedBy(
  clusters: readonly Cluster[],
  path: string,
  last: string | null = null
): Cluster | null {
  const own = attachedTo(clusters, path, last);
  if (own) {
    return own;
  }
  const living = clusters.filter(isLiving);
  if (last !== null) {
    return living.find(c => c.id === last) ?? null;
  }
  return living.length === 1 ? living[0] : null;
}

/** The same of an open notebook; null for one that never had a kernel, such as the executed notebook of a job. */
export function clusterOf(
  clusters: readonly Cluster[],
  panel: OpenNotebookPanel,
  records: Pick<IKernelRecords, 'kernelPath' | 'lastCluster'>
): Cluster | null {
  const path = records.kernelPath(panel);
  const last = records.lastCluster(panel);
  return panel.sessionContext.hasNoKernel && last === null
    ? attachedTo(clusters, path)
    : usedBy(clusters, path, last);
}

function isLiving({ state }: Cluster): boolean {
  return !ENDED.includes(state);
}
