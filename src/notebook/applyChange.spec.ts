import { expect, it } from 'vitest';

import { Advice } from '../tokens';
import { applied, notebooksOf, targetOf } from './applyChange';

const DIFF = `--- cell
+++ cell
@@ -1,2 +1,3 @@
 model = DDP(net)
+import dtrain_lab as dt
 train(10)
@@ -5,1 +6,1 @@
-loader = DataLoader(data)
+loader = DataLoader(data, num_workers=2)`;

it('applies a diff below the magic line, at lines that are there', () => {
  expect(
    applied(
      '%%distributed\nmodel = DDP(net)\ntrain(10)\n\nloader = DataLoader(data)',
      DIFF
    )
  ).toBe(
    '%%distributed\nmodel = DDP(net)\nimport dtrain_lab as dt\ntrain(10)\n\nloader = DataLoader(data, num_workers=2)'
  );
});

it('changes nothing where the cell is another', () => {
  expect(applied('model = DDP(net)\ntrain(20)', DIFF)).toBe(null);
  expect(applied('train(10)\nmodel = DDP(net)', DIFF)).toBe(null);
  expect(applied('x', '')).toBe(null);
});

const CODE = 'model = DDP(net)\ntrain(10)\n\nloader = DataLoader(data)';

function advice(values: Advice['values']): Advice {
  return { id: 'workers', diff: DIFF, values } as Advice;
}

function cell(id: string, source = CODE, code = true) {
  return { id, source, code };
}

it('changes the cell that ran, not one that is like it', () => {
  const cells = [cell('a', CODE, false), cell('b'), cell('c')];
  const found = targetOf(cells, advice({ cell_id: 'c' }));
  expect(found?.cell.id).toBe('c');
  expect(found?.source).toContain('num_workers=2');
  // it was edited since: its copy isn't the cell that ran
  const edited = [cell('b'), cell('c', 'train(20)')];
  expect(targetOf(edited, advice({ cell_id: 'c' }))).toBe(null);
});

it('takes the only cell that fits where the one that ran is not known', () => {
  const cells = [cell('a', 'x = 1'), cell('b')];
  expect(targetOf(cells, advice({}))?.cell.id).toBe('b');
  expect(targetOf(cells, advice({ cell_id: 'gone' }))?.cell.id).toBe('b');
  expect(targetOf([...cells, cell('c')], advice({}))).toBe(null);
});

it('looks in the notebook whose cell ran, or in all once it was renamed', () => {
  const cluster = { notebooks: ['/n/a.ipynb', '/n/b.ipynb'] };
  expect(notebooksOf(cluster, advice({ notebook: '/n/b.ipynb' }))).toEqual([
    '/n/b.ipynb'
  ]);
  expect(notebooksOf(cluster, advice({ notebook: '/n/c.ipynb' }))).toEqual(
    cluster.notebooks
  );
});
