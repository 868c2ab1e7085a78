import { expect, it } from 'vitest';

import { heldOf } from './slots';

it('says how many slots each holder has, the largest first', () => {
  const holder = (kind: 'cluster' | 'job', id: string) => ({
    kind,
    id,
    name: id,
    owner: 'me',
    pid: 1,
    may_stop: true
  });
  const slot = (n: number, held: ReturnType<typeof holder> | null) => ({
    device: `cuda:${n}`,
    held_by: held,
    memory_bytes: null
  });
  const node = {
    name: 'a',
    waiting: [],
    slots: [
      slot(0, holder('job', 'x')),
      slot(1, null),
      slot(2, holder('cluster', 'y')),
      slot(3, holder('cluster', 'y'))
    ]
  };
  expect(heldOf(node).map(h => [h.holder.id, h.slots, h.devices])).toEqual([
    ['y', 2, ['cuda:2', 'cuda:3']],
    ['x', 1, ['cuda:0']]
  ]);
});
