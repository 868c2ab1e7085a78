import { PageConfig } from '@jupyterlab/coreutils';
import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { makeCluster } from '../../testing/clusters';
import { KernelRecords } from '../../locations/kernelRecords';
import { OpenNotebookPanel } from '../../tokens';
import { attachedTo, clusterOf, othersText, usedBy } from './notebookCluster';

it('tells notebooks of one name in two folders apart', () => {
  PageConfig.setOption('serverRoot', '~/work');
  PageConfig.setOption('dtrainRoot', '/home/u/work');
  const a = makeCluster({
    id: 'a',
    notebooks: ['/home/u/work/1/Untitled.ipynb']
  });
  const b = makeCluster({
    id: 'b',
    notebooks: ['/home/u/work/2/Untitled.ipynb']
  });
  expect(attachedTo([a, b], '1/Untitled.ipynb')?.id).toBe('a');
  expect(attachedTo([a, b], '2/Untitled.ipynb')?.id).toBe('b');
  expect(attachedTo([a, b], '3/Untitled.ipynb')).toBeNull();
});

it('is the cluster that still runs a cell of the notebook where its kernel has ended', () => {
  const running = [
    {
      cell: 'x',
      cell_id: null,
      detached: false,
      kind: 'cell' as const,
      notebook: '/home/u/work/a.ipynb',
      ranks: [0],
      started_at: 0
    }
  ];
  const busy = makeCluster({ id: 'a', notebooks: [], running });
  expect(attachedTo([busy], 'a.ipynb')?.id).toBe('a');
  expect(attachedTo([busy], 'b.ipynb')).toBeNull();
});

it('is the only cluster there is before the first cell, as the kernel takes it by itself', () => {
  const only = makeCluster({ id: 'a', notebooks: [] });
  const ended = makeCluster({ id: 'b', notebooks: [], state: 'failed' });
  expect(attachedTo([only], 'a.ipynb')).toBeNull();
  expect(usedBy([only, ended], 'a.ipynb')?.id).toBe('a');
  // of two, the kernel asks for a choice
  const other = makeCluster({ id: 'c', notebooks: ['c.ipynb'] });
  expect(usedBy([only, other], 'a.ipynb')).toBeNull();
  expect(usedBy([only, other], 'c.ipynb')?.id).toBe('c');
});

it('is no other one where its own has ended, until one is started for it', () => {
  const own = makeCluster({ id: 'a', notebooks: ['e.ipynb'] });
  const other = makeCluster({ id: 'b', notebooks: [] });
  expect(usedBy([own, other], 'e.ipynb', 'a')?.id).toBe('a');
  expect(usedBy([other], 'e.ipynb', 'a')).toBeNull();
  expect(usedBy([own, other], 'e.ipynb', 'b')?.id).toBe('b');
  // its kernel takes the one that the panel has started for it, whatever else runs
  const third = makeCluster({ id: 'c', notebooks: [] });
  expect(usedBy([other, third], 'e.ipynb', 'c')?.id).toBe('c');
});

it('is used by others, too, which its end concerns', () => {
  const trans = nullTranslator.load('');
  let former: string[] = [];
  const said = (...notebooks: string[]): string =>
    othersText(
      { notebooks, former_notebooks: former },
      { path: 'a.ipynb' },
      new KernelRecords(),
      trans
    );
  expect(said('a.ipynb')).toBe('');
  expect(said('a.ipynb', 'x/b.ipynb')).toBe('b.ipynb uses it, too.');
  expect(said('c.ipynb', 'b.ipynb', 'd.ipynb')).toBe(
    'c.ipynb, b.ipynb and d.ipynb use it, too.'
  );
  // their variables are still there
  former = ['a.ipynb', 'e.ipynb'];
  expect(said('a.ipynb')).toBe('e.ipynb used it earlier.');
  expect(said('b.ipynb')).toBe(
    'b.ipynb uses it, too. e.ipynb used it earlier.'
  );
});

it('is still that of a notebook whose kernel has ended with its server', () => {
  const records = new KernelRecords();
  const sessionContext = {
    session: { kernel: { id: 'k1' } } as object | null,
    hasNoKernel: false
  };
  const panel = {
    context: { path: 'e.ipynb' },
    sessionContext
  } as unknown as OpenNotebookPanel;
  const clusters = ['a', 'b'].map(id => makeCluster({ id, notebooks: [] }));
  records.note('k1', { notebook: 'e.ipynb', cluster: 'b' });
  expect(clusterOf(clusters, panel, records)?.id).toBe('b');
  Object.assign(sessionContext, { session: null, hasNoKernel: true });
  expect(clusterOf(clusters, panel, records)?.id).toBe('b');
  // the executed notebook of a job never had one
  const executed = {
    context: { path: 'executed.ipynb' },
    sessionContext: { session: null, hasNoKernel: true }
  } as unknown as OpenNotebookPanel;
  expect(clusterOf([clusters[0]], executed, records)).toBeNull();
});

it('is of several that name the notebook the one that its kernel used last', () => {
  const a = makeCluster({ id: 'a', notebooks: ['e.ipynb'] });
  const b = makeCluster({ id: 'b', notebooks: ['e.ipynb'] });
  expect(attachedTo([a, b], 'e.ipynb', 'a')?.id).toBe('a');
  // its kernel has recorded none, as after two calls of `dt.start`: it asks for a choice
  expect(attachedTo([a, b], 'e.ipynb')).toBeNull();
  expect(attachedTo([b], 'e.ipynb')?.id).toBe('b');
});

it('is none once the one that its kernel used last has ended, also if the kernel is still attached to another', () => {
  const b = makeCluster({ id: 'b', notebooks: ['e.ipynb'] });
  expect(attachedTo([b], 'e.ipynb', 'a')).toBeNull();
  expect(usedBy([b], 'e.ipynb', 'a')).toBeNull();
  expect(usedBy([b], 'e.ipynb', 'b')?.id).toBe('b');
});
