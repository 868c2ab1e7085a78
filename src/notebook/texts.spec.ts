import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { KernelRecords } from '../locations/kernelRecords';
import { makeCluster, makeVerdict } from '../testing/clusters';
import { Cluster, Verdict } from '../tokens';
import { clusterItem, pickedOf, restartNote, withoutNotebook } from './texts';

const records = new KernelRecords();
const trans = nullTranslator.load('');

it('claims nothing of a cluster without a server, and lets nothing be chosen', () => {
  const cluster = makeCluster();
  expect(pickedOf(cluster, 'open', trans)).toMatchObject({
    text: 'local-2',
    glyph: 'idle',
    why: null
  });
  const lost = pickedOf(cluster, 'lost', trans);
  expect(lost).toMatchObject({ text: 'local-2', glyph: 'off' });
  expect(lost.why).toContain('No connection to the server');
  expect(pickedOf(null, 'lost', trans).text).toBe('No connection');
  expect(pickedOf(null, 'open', trans)).toMatchObject({
    text: 'No cluster',
    glyph: null
  });
});

it('has the words of the verdict beside its glyph', () => {
  const { metrics } = makeCluster();
  const of = (verdict: Verdict): string =>
    pickedOf(
      makeCluster({ metrics: { ...metrics, verdicts: [verdict] } }),
      'open',
      trans
    ).word;
  const kind = 'input_bound';
  const hungry = makeVerdict({ kind, code: kind, values: { share: 0.9 } });
  expect(of(hungry)).toBe('waits for data, 90\u00a0% of a step');
  expect(of(makeVerdict())).toBe('rank 1 is stuck');
});

it('names a cluster with its size, its notebooks, and its state unless it is ready', () => {
  const cluster = makeCluster({ notebooks: ['/home/u/work/mycnn.ipynb'] });
  expect(clusterItem(cluster, records, trans)).toBe(
    'local-2 · 2 ranks · mycnn.ipynb'
  );
  expect(
    clusterItem(
      makeCluster({ state: 'starting', notebooks: [] }),
      records,
      trans
    )
  ).toBe('local-2 · 2 ranks · starting');
});

it('says what a restart of the kernel interrupts, and where the variables are', () => {
  const cell = { cell: '[7]', notebook: '/w/a.ipynb', ranks: [0, 1] };
  const busy = makeCluster({
    running: [cell] as unknown as Cluster['running']
  });
  expect(restartNote([busy], '/w/a.ipynb', false, trans)).toBe(
    "The kernel's restart interrupts cell [7]. The ranks of local-2 keep their variables."
  );
  expect(restartNote([busy], '/w/a.ipynb', true, trans)).toBe(
    'The kernel has died. Cell [7] still runs on the ranks of local-2.'
  );
  // a notebook's own path is the one in JupyterLab
  expect(restartNote([busy], 'a.ipynb', false, trans)).not.toBeNull();
  expect(restartNote([busy], '/w/b.ipynb', false, trans)).toBeNull();
  // one started with --no-wait goes on, whatever its kernel does
  const detached = { ...cell, cell: '[6]', detached: true };
  const both = [detached, cell] as unknown as Cluster['running'];
  const alone = { ...busy, running: both.slice(0, 1) };
  expect(restartNote([alone], '/w/a.ipynb', false, trans)).toBeNull();
  expect(
    restartNote([{ ...busy, running: both }], '/w/a.ipynb', false, trans)
  ).toContain('interrupts cell [7]');
});

it('does not name a notebook beside a cluster that it has left', () => {
  const notebooks = ['/home/u/work/a.ipynb', '/home/u/work/b.ipynb'];
  const left = withoutNotebook(makeCluster({ notebooks }), 'a.ipynb');
  expect(clusterItem(left, records, trans)).toMatch(/ranks · b\.ipynb$/);
});
