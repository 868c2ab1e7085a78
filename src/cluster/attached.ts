import { isNotebook } from '../places/find';
import { serverRoot } from '../places/open';
import { Cluster } from '../tokens';

/**
 * The cluster that a notebook uses: the last one whose notebooks name it.
 *
 * @param path - the notebook's, as its kernel has it: `kernelPath`.
 */
export function attachedTo(
  clusters: readonly Cluster[],
  path: string
): Cluster | null {
  const root = serverRoot();
  const named = clusters.filter(cluster =>
    cluster.notebooks.some(notebook => isNotebook(path, notebook, root))
  );
  return named[named.length - 1] ?? null;
}
