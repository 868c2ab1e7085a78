import { expect, it } from 'vitest';

import { around, MOST_KEPT, trimmed } from './trim';

const line = (n: number): string => `[0-3] step ${n} loss 0.1\n`;

it('keeps both ends of a long output, and says how many lines went', () => {
  let text = '';
  let printed = 0;
  // as it comes: cut again and again while lines are added
  for (; printed < 100_000; printed++) {
    text += line(printed);
    text = trimmed(text) ?? text;
  }
  expect(text.length).toBeLessThanOrEqual(MOST_KEPT);
  const [shown, left] = around(text);
  const rows = shown.split('\n').slice(0, -1);
  expect(rows.length + left).toBe(printed);
  expect(rows[0]).toBe('[0-3] step 0 loss 0.1');
  expect(rows[rows.length - 1]).toBe(line(printed - 1).trim());
  expect(text).toContain(`… ${left} lines are left out here.`);
});

it('leaves a short output alone', () => {
  expect(trimmed(line(1))).toBeNull();
  expect(around(line(1))).toEqual([line(1), 0]);
});
