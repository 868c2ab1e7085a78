import { expect, it, vi } from 'vitest';

import { lengthenWaits } from './waits';

/** Another `vi`, which notes how it waits. */
function made() {
  const waited: unknown[] = [];
  const wait = async (_: unknown, options: unknown): Promise<void> =>
    void waited.push(options);
  const other = { waitFor: wait, waitUntil: wait } as unknown as typeof vi;
  lengthenWaits(other);
  lengthenWaits(other);
  return { other, waited };
}

it('lets specs wait longer than vitest does, unless they say how long', async () => {
  const { other, waited } = made();
  const look = (): boolean => true;
  await other.waitFor(look);
  await other.waitUntil(look, { interval: 5 });
  await other.waitFor(look, { timeout: 7 });
  await other.waitFor(look, 8);
  expect(waited).toEqual([
    { timeout: 20_000 },
    { timeout: 20_000, interval: 5 },
    { timeout: 7 },
    8
  ]);
});

it('is set up for this spec', () => {
  const lengthened = Symbol.for('dtrain-lab:waits');
  expect((vi as unknown as Record<symbol, boolean>)[lengthened]).toBe(true);
});
