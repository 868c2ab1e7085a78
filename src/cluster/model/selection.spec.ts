import { expect, it } from 'vitest';

import { makeCluster, makeFrame } from '../../testing/clusters';
import { makeLiveState } from '../../testing/liveState';
import { Cluster } from '../../tokens';
import { Selection } from './selection';

function make(): {
  selection: Selection;
  hear: (...clusters: Cluster[]) => void;
} {
  const model = makeLiveState();
  const selection = new Selection(model);
  return {
    selection,
    hear: (...clusters) => model.receive(makeFrame(clusters))
  };
}

const one = makeCluster({ id: 'a', name: 'a' });
const two = makeCluster({ id: 'b', name: 'b' });

it('shows the latest cluster until somebody chooses one', () => {
  const { selection, hear } = make();
  expect(selection.cluster).toBeNull();
  hear(one, two);
  expect(selection.cluster?.id).toBe('b');
  selection.select('a');
  expect(selection.cluster?.id).toBe('a');
});

it('keeps a cluster that ended while it was shown, until it is forgotten or another begins', () => {
  const { selection, hear } = make();
  hear(one);
  hear();
  expect([selection.cluster?.id, selection.cluster?.state]).toEqual([
    'a',
    'stopped'
  ]);
  selection.forget('a');
  expect(selection.cluster).toBeNull();
  hear(one);
  hear();
  hear(two);
  expect(selection.cluster?.id).toBe('b');
});

it('stays at a cluster that its notebook has left, and goes to no other', () => {
  const { selection, hear } = make();
  selection.setNotebook({ path: 'x.ipynb', kernel: 'python3', lacks: false });
  hear({ ...one, notebooks: ['x.ipynb'] }, two);
  expect(selection.cluster?.id).toBe('a');
  hear({ ...one, state: 'paused' }, two);
  expect(selection.cluster?.notebooks).toEqual([]);
  expect(selection.cluster?.id).toBe('a');
  hear(one, { ...two, notebooks: ['x.ipynb'] });
  expect(selection.cluster?.id).toBe('b');
});

it('keeps the stopped cluster of a notebook while others start, and says who has stopped it', () => {
  const model = makeLiveState();
  const selection = new Selection(model);
  const values = { by: 'kernel', notebook: 'b.ipynb', at: 1e9 };
  const ended = { a: { code: 'stopped', values, text: 'Stopped.' } };
  const hear = (...clusters: Cluster[]): void =>
    model.receive(makeFrame(clusters, { ended }));
  const open = (path: string): void =>
    selection.setNotebook({ path, kernel: 'python3', lacks: false });
  open('a.ipynb');
  hear({ ...one, notebooks: ['a.ipynb'] }, two);
  hear(two);
  expect(selection.cluster).toMatchObject({ id: 'a', summary: { values } });
  hear(two, makeCluster({ id: 'c', name: 'c', notebooks: ['b.ipynb'] }));
  expect(selection.cluster?.id).toBe('a');
  open('b.ipynb');
  expect(selection.cluster?.id).toBe('c');
  hear(makeCluster({ id: 'c', name: 'c', notebooks: ['b.ipynb'] }));
  expect(selection.ended.map(c => c.id)).toEqual(['a', 'b']);
  open('a.ipynb');
  expect(selection.cluster?.id).toBe('a');
});

it('tells of what somebody chose, and not of each frame', () => {
  const { selection, hear } = make();
  let told = 0;
  selection.changed.connect(() => void told++);
  hear(one);
  hear(one, two);
  expect(told).toBe(0);
  selection.selectRank(3);
  const notebook = { path: 'a.ipynb', kernel: 'python3', lacks: false };
  selection.setNotebook(notebook);
  selection.setNotebook({ ...notebook });
  expect(told).toBe(2);
});

it('follows the cluster of the notebook in front, except for what somebody chose since', () => {
  const { selection, hear } = make();
  const open = (path: string): void =>
    selection.setNotebook({ path, kernel: 'python3', lacks: false });
  const first = { ...one, notebooks: ['/home/me/a.ipynb'] };
  const second = { ...two, notebooks: ['/home/me/b.ipynb'] };
  const third = makeCluster({ id: 'c', name: 'c' });
  open('a.ipynb');
  hear(first, second, third);
  expect(selection.cluster?.id).toBe('a');
  open('b.ipynb');
  expect(selection.cluster?.id).toBe('b');
  selection.select('c');
  hear(first, second, third);
  expect(selection.cluster?.id).toBe('c');
  open('without.ipynb');
  expect(selection.cluster?.id).toBe('c');
  open('a.ipynb');
  expect(selection.cluster?.id).toBe('a');
  open('without.ipynb');
  expect(selection.cluster?.id).toBe('a');
  open('b.ipynb');
  expect(selection.cluster?.id).toBe('b');
  open('a.ipynb');
  // it is attached to another one
  selection.select('b');
  const world = { size: 2, generation: 1 };
  hear(one, second, { ...third, notebooks: ['/home/me/a.ipynb'], world });
  expect(selection.cluster?.id).toBe('c');
});
