import { TranslationBundle } from '@jupyterlab/translation';

import { ENDED } from '../api/states';
import { usedBy } from '../cluster/model/notebookCluster';
import { formatCount } from '../metrics/format';
import { Cluster, ILiveState } from '../tokens';
import { ranksText } from '../verdicts/sentence';

/** States of a cluster that no cell runs on yet. */
const BEGINS = ['pending', 'starting', 'connecting'];

/**
 * The cluster whose start the kernel waits for while it executes a cell of ranks; 'unknown' where no frame has told of
 * it yet. Undefined if it waits for none: the cell's cluster is there.
 *
 * @param path - the notebook's, as its kernel has it: `IKernelRecords.kernelPath`.
 * @param last - id of the cluster that its kernel used last: `IKernelRecords.lastCluster`.
 * @param named - name or id of the cluster that the cell's magic names, which no kernel starts; null if it names none.
 */
export function awaitedStart(
  { clusters, isKnown }: Pick<ILiveState, 'clusters' | 'isKnown'>,
  path: string,
  last: string | null,
  named: string | null
): Cluster | 'unknown' | undefined {
  const living = clusters.filter(c => !ENDED.includes(c.state));
  if (named !== null) {
    const own = living.find(c => c.name === named || c.id === named);
    return own && starting(own);
  }
  if (!living.length) {
    return isKnown ? 'unknown' : undefined;
  }
  // a kernel whose own cluster has ended starts another one only where there is none
  const own =
    usedBy(clusters, path, last) ?? (living.length === 1 ? living[0] : null);
  return own ? starting(own) : undefined;
}

/** A cluster that no cell runs on yet; undefined otherwise. */
function starting(cluster: Cluster): Cluster | undefined {
  return BEGINS.includes(cluster.state) ? cluster : undefined;
}

/** "starting local-2: loading PyTorch", for a cell whose kernel waits for this cluster; null: for one not known yet. */
export function startText(
  cluster: Cluster | null,
  trans: TranslationBundle
): string {
  if (!cluster) {
    return trans.__('starting a cluster');
  }
  const { name, state, summary } = cluster;
  const total = Number(summary.values.total ?? cluster.world.size);
  if (state === 'pending') {
    return trans.__('waiting for the nodes of %1', name);
  }
  switch (summary.code) {
    case 'loading_torch':
      return trans.__('starting %1: loading PyTorch', name);
    case 'starting':
      return trans.__(
        'starting %1: %2 of %3',
        name,
        formatCount(Number(summary.values.done ?? 0)),
        ranksText(total, trans)
      );
    case 'connecting':
      return trans.__(
        'starting %1: connecting %2',
        name,
        ranksText(total, trans)
      );
    default:
      return trans.__('starting %1', name);
  }
}
