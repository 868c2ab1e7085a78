import { isNotebook } from '../../places/find';
import { serverRoot } from '../../places/open';
import { Cluster } from '../../tokens';

/**
 * The cluster that a notebook uses: the last one whose notebooks name it, else the one that still runs a cell
 * of it, as after the end of its kernel.
 *
 * @param path - the notebook's, as its kernel has it: `kernelPath`.
 */
export function attachedTo(
  clusters: readonly Cluster[],
  path: string
): Cluster | null {
  const root = serverRoot();
  const own = (notebook: string | null): boolean =>
    notebook !== null && isNotebook(path, notebook, root);
  return (
    clusters.filter(cluster => cluster.notebooks.some(own)).pop() ??
    clusters
      .filter(cluster => cluster.running.some(cell => own(cell.notebook)))
      .pop() ??
    null
  );
}

/** States in which a cluster runs no cell any more. */
export const DEAD: readonly Cluster['state'][] = ['stopped', 'failed'];

/** Path of a notebook → id of the cluster that its kernel used last, or that was started for it since. */
const last = new Map<string, string>();

/** A cluster was started for a notebook; its kernel takes that one also where its former one has ended. */
export function noteStart(path: string, id: string): void {
  last.set(path, id);
}

/** The kernel of a notebook has started anew: it knows of no cluster that has ended. */
export function forgetLast(path: string): void {
  last.delete(path);
}

/**
 * The cluster that a notebook's next `%%distributed` cell runs on: its own, else the only one there is, which
 * the kernel takes by itself then. Null where the cell would start one, or ask for a choice, as it does where
 * the notebook's own cluster has ended.
 *
 * @param path - the notebook's, as its kernel has it: `kernelPath`.
 */
export function usedBy(
  clusters: readonly Cluster[],
  path: string
): Cluster | null {
  const own = attachedTo(clusters, path);
  if (own) {
    last.set(path, own.id);
    return own;
  }
  const living = clusters.filter(c => !DEAD.includes(c.state));
  const before = last.get(path);
  const hasEnded = before !== undefined && !living.some(c => c.id === before);
  return !hasEnded && living.length === 1 ? living[0] : null;
}
