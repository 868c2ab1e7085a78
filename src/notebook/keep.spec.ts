import { expect, it } from 'vitest';

import { applied } from './keep';

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
