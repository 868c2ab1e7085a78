import { expect, it } from 'vitest';

import { makeCluster, makeFrame } from '../../testing/clusters';
import { makeLiveState } from '../../testing/liveState';
import { Cluster, Endings } from '../../tokens';
import { EndedStore, forgetRuns, noteRuns } from './endedRuns';
import { LiveState } from './liveState';
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

it('goes to no cluster to which the kernel is still attached once the one that it used has ended, until it chooses it', () => {
  const { selection, hear } = make();
  const use = (lastCluster: string): void =>
    selection.setNotebook({
      path: 'x.ipynb',
      lastCluster,
      kernel: 'python3',
      lacks: false
    });
  const [first, second] = [one, two].map(c => ({
    ...c,
    notebooks: ['x.ipynb']
  }));
  use('b');
  hear(second);
  hear(first, second);
  use('a');
  expect(selection.cluster?.id).toBe('a');
  hear(second);
  expect(selection.cluster).toMatchObject({ id: 'a', state: 'stopped' });
  use('b');
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

it('tells of what somebody chose, and of frames that change the selection', () => {
  const { selection, hear } = make();
  let told = 0;
  selection.changed.connect(() => void told++);
  hear(one);
  hear(one, two);
  expect(told).toBe(2);
  hear({ ...one, state: 'paused' }, { ...two, state: 'paused' });
  expect(told).toBe(2);
  selection.selectRank(3);
  const notebook = { path: 'a.ipynb', kernel: 'python3', lacks: false };
  selection.setNotebook(notebook);
  selection.setNotebook({ ...notebook });
  expect(told).toBe(4);
});

it('is right for a view that heard of the frame before it', () => {
  const model = makeLiveState();
  const shown: (string | undefined)[] = [];
  const draw = (): void => void shown.push(selection.cluster?.state);
  model.changed.connect(draw);
  const selection = new Selection(model);
  selection.changed.connect(draw);
  model.receive(makeFrame([one]));
  selection.select('a');
  model.receive(makeFrame([]));
  expect(shown.pop()).toBe('stopped');
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

it('remembers of clusters that are gone neither that they ran nor that they were there', () => {
  const [ran, seen] = [new Set<string>(), new Set<string>()];
  noteRuns(ran, seen, [one, two]);
  [ran, seen].forEach(noted => forgetRuns(noted, [two]));
  expect([[...ran], [...seen]]).toEqual([['b'], ['b']]);
});

it('tells after a reload of a cluster that has ended by itself, until it is dismissed or another starts', () => {
  const stored = new Map<string, string>();
  const load = (
    server = 'http://box/'
  ): {
    selection: Selection;
    hear: (ended: object, ...c: Cluster[]) => void;
  } => {
    const model = makeLiveState();
    const store = {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => void stored.set(key, value)
    };
    return {
      selection: new Selection(model, new EndedStore(store, server)),
      hear: (ended, ...clusters) =>
        model.receive(makeFrame(clusters, { ended: ended as Endings }))
    };
  };
  const at = 7200;
  const end = (id: string, by: string): object => ({
    [id]: { code: 'stopping', values: { by, at, idle_s: 60 }, text: '' }
  });
  const old = makeCluster({ id: 'o', name: 'o', created_at: at - 1 });
  const failed = makeCluster({
    id: 'f',
    name: 'f',
    state: 'failed',
    summary: { code: 'lost_all', values: {}, text: 'f has failed.' },
    reason: { code: 'lost_all', message: 'box is gone.', hint: '', host: null }
  } as Partial<Cluster>);
  let page = load();
  page.hear({}, one, old);
  page.selection.select('a');
  page.hear(end('a', 'idle'), old);
  // it is selected, as before, beside one that had started before it ended
  page = load();
  page.hear({}, old);
  expect(page.selection.cluster).toMatchObject({
    id: 'a',
    state: 'stopped',
    summary: { values: { by: 'idle', at, lasted_s: at - 1 } }
  });
  expect(load('http://other/').selection.cluster).toBeNull();
  // another has started meanwhile: it is only listed
  page = load();
  page.hear({}, makeCluster({ id: 'n', name: 'n', created_at: at + 1 }));
  expect(page.selection.cluster?.id).toBe('n');
  expect(page.selection.ended.map(c => c.id)).toEqual(['a']);
  page.selection.forget('a');
  expect(load().selection.ended).toEqual([]);
  // whoever has stopped it knows; one that failed says why
  page.hear({}, two, { ...failed, state: 'ready' });
  page.hear(end('b', 'kernel'), failed);
  page.hear(end('b', 'kernel'));
  expect(page.selection.ended.map(c => c.id)).toContain('b');
  const told = load().selection.ended;
  expect(told.map(c => c.id)).toEqual(['n', 'f']);
  expect(told[1]).toMatchObject({
    state: 'stopped',
    reason: failed.reason,
    summary: failed.summary
  });
});

it('tells after a reload of a cluster that has ended with its server: nobody has stopped that one', () => {
  const stored = new Map<string, string>();
  const store = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value)
  };
  const load = (): [Selection, LiveState] => {
    const model = makeLiveState();
    return [new Selection(model, new EndedStore(store, 'http://x/')), model];
  };
  const [, model] = load();
  const values = { by: 'shutdown', at: 7200 };
  const ended = { a: { code: 'stopping', values, text: '' } };
  model.receive(makeFrame([one]));
  model.receive(makeFrame([], { ended, seq: 1 }));
  const [selection, next] = load();
  next.receive(makeFrame([], { ended }));
  expect(selection.cluster?.summary.values).toMatchObject({ by: 'shutdown' });
});

it('shows the cluster that runs, and not one of another notebook that has ended, to a notebook that would use it', () => {
  const { selection, hear } = make();
  const old = makeCluster({ id: 'o', name: 'o', notebooks: ['old.ipynb'] });
  const notebook = { kernel: 'k', lacks: false };
  selection.setNotebook({ ...notebook, path: 'old.ipynb' });
  hear(old, two);
  hear(two);
  expect(selection.cluster).toMatchObject({ id: 'o', state: 'stopped' });
  selection.setNotebook({ ...notebook, path: 'new.ipynb' });
  expect(selection.cluster?.id).toBe('b');
  selection.setNotebook({ ...notebook, path: 'old.ipynb' });
  expect(selection.cluster?.id).toBe('o');
});

it('tells nothing of a failed cluster that was removed', () => {
  const { selection, hear } = make();
  const failed: Cluster = { ...one, state: 'failed' };
  hear(one);
  hear(failed);
  selection.forget('a');
  hear(failed);
  hear();
  expect(selection.ended).toEqual([]);
});

it('tells once of a cluster that ended by itself while no page was open', () => {
  const stored = new Map<string, string>();
  const store = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value)
  };
  const values = { by: 'idle', at: 7200, idle_s: 1800 };
  const summary = { code: 'stopping', values, text: '' };
  const untold = [makeCluster({ ...one, state: 'stopping', summary })];
  const load = (...clusters: Cluster[]): Selection => {
    const model = makeLiveState();
    const selection = new Selection(model, new EndedStore(store, 'http://x/'));
    model.receive(makeFrame(clusters, { untold }));
    model.receive(makeFrame(clusters, { seq: 1 }));
    return selection;
  };
  let selection = load();
  expect(selection.cluster).toMatchObject({
    id: 'a',
    state: 'stopped',
    summary: { values: { by: 'idle', at: 7200, lasted_s: 7199 } }
  });
  expect(load().cluster?.id).toBe('a');
  selection = load(two);
  expect(selection.ended.map(c => c.id)).toEqual(['a']);
  selection.forget('a');
  expect(selection.ended).toEqual([]);
  expect(load().ended).toEqual([]);
  // when one ended that an earlier server had left, nobody knows
  stored.clear();
  untold[0] = { ...untold[0], summary: { ...summary, values: { by: '' } } };
  expect(load().cluster?.summary.values).toEqual({ by: '' });
  // beside one that runs, it is only listed
  stored.clear();
  selection = load(two);
  expect(selection.cluster?.id).toBe('b');
  expect(selection.ended.map(c => c.id)).toEqual(['a']);
});
