import { expect, it, vi } from 'vitest';

import { onceAtATime } from './once';

it('does the same thing once at a time, another one beside it, and again when it is done', async () => {
  const once = onceAtATime();
  let end: (value: number) => void = () => undefined;
  const work = vi.fn(
    () => new Promise<number>(resolve => void (end = resolve))
  );
  const first = once('a', work);
  expect(once('a', work)).toBe(first);
  void once('b', async () => 1);
  end(3);
  expect(await first).toBe(3);
  expect(work).toHaveBeenCalledTimes(1);
  await expect(
    once('a', async () => Promise.reject(new Error('no')))
  ).rejects.toThrow('no');
  expect(await once('a', async () => 5)).toBe(5);
});
