import { Cluster } from '../tokens';

/** The cluster that a notebook uses: the last one whose notebooks name it. */
export function attachedTo(
  clusters: readonly Cluster[],
  path: string
): Cluster | null {
  const name = path.split('/').pop() ?? '';
  const named = clusters.filter(cluster =>
    cluster.notebooks.some(
      notebook => notebook === path || notebook.endsWith(`/${name}`)
    )
  );
  return named[named.length - 1] ?? null;
}
