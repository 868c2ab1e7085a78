import { Cluster } from '../../tokens';

/** Whether its ranks are not connected yet. */
export function isStarting(cluster: Cluster): boolean {
  return ['pending', 'starting', 'connecting'].includes(cluster.state);
}
