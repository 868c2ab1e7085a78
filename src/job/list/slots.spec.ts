import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { ILiveState } from '../../tokens';
import { freeText, heldOf, isForeign, whose } from './slots';

it('knows clusters and jobs of another Jupyter server, of which there is no view', () => {
  const model = {
    link: 'open',
    clusters: [{ id: 'c' }],
    jobs: [{ id: 'j' }]
  } as unknown as ILiveState;
  const trans = nullTranslator.load('dtrain_lab');
  const of = (kind: 'cluster' | 'job' | 'foreign', id: string, owner = '') => {
    const holder = { kind, id, name: id, owner, pid: 1, may_stop: false };
    return [isForeign(holder, model), whose(holder, model, trans)];
  };
  expect(of('cluster', 'c')).toEqual([false, '']);
  expect(of('job', 'j', 'ann')).toEqual([false, ' · ann']);
  expect(of('foreign', '7')).toEqual([false, '']);
  expect(of('cluster', 'j', 'ann')).toEqual([
    true,
    ' · ann · not of this Jupyter server'
  ]);
  expect(of('job', 'c')).toEqual([true, ' · not of this Jupyter server']);
});

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
    excess: 0,
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

it('has the number of slots that the machine has, also while they are shared', () => {
  const trans = nullTranslator.load('dtrain_lab');
  const held_by = {
    kind: 'cluster' as const,
    id: 'c',
    name: 'c',
    owner: 'me',
    pid: 1,
    may_stop: false
  };
  const slots = Array.from({ length: 18 }, (_, n) => ({
    device: `cpu:${n}`,
    held_by,
    memory_bytes: null
  }));
  const node = { name: 'a', waiting: [], slots, excess: 0 };
  expect(freeText({ ...node, excess: 2 }, trans)).toBe(
    '0 of 16 slots are free, and some are shared'
  );
  expect(freeText(node, trans)).toBe('0 of 18 slots are free');
});
