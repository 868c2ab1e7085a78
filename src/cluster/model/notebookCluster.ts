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
