import { expect, it } from 'vitest';

import { makeCluster } from '../testing/clusters';
import { Cluster } from '../tokens';
import { awaitedStart } from './startText';

/** The id of the cluster that a kernel of `e.ipynb` waits for. */
function awaited(
  clusters: readonly Cluster[],
  last: string | null = null,
  isKnown = true,
  named: string | null = null
): string | undefined {
  const found = awaitedStart({ clusters, isKnown }, 'e.ipynb', last, named);
  return typeof found === 'object' ? found.id : found;
}

it('is the cluster that starts for the notebook, and none once it is there', () => {
  const starting = makeCluster({ id: 'a', state: 'starting' });
  const ready = makeCluster({ id: 'b' });
  expect(awaited([starting])).toBe('a');
  expect(awaited([ready])).toBeUndefined();
  // the notebook's own one has ended, so its kernel starts another one
  expect(awaited([starting], 'ended')).toBe('a');
  // another notebook starts one, and this one has its own
  expect(awaited([starting, ready], 'b')).toBeUndefined();
  expect(awaited([starting, ready])).toBeUndefined();
});

it('is the cluster that the magic names, and no other one', () => {
  const pending = makeCluster({ id: 'a', name: 'x', state: 'pending' });
  const ready = makeCluster({ id: 'b', name: 'y' });
  const of = (named: string, clusters: Cluster[]): string | undefined =>
    awaited(clusters, 'a', true, named);
  expect(of('x', [pending, ready])).toBe('a');
  expect(of('a', [pending, ready])).toBe('a');
  expect(of('y', [pending, ready])).toBeUndefined();
  // the kernel starts none for it
  expect(of('z', [pending])).toBeUndefined();
  expect(of('z', [])).toBeUndefined();
});

it('is not known before a frame has told of it', () => {
  expect(awaited([])).toBe('unknown');
  expect(awaited([makeCluster({ state: 'failed' })])).toBe('unknown');
  expect(awaited([], null, false)).toBeUndefined();
});
