import { expect, it } from 'vitest';

import { once } from './once';

it('does once what was clicked twice, and again what is clicked later', async () => {
  const done: number[] = [];
  const execute = once(async ({ rank }: { rank: number }) => {
    await Promise.resolve();
    done.push(rank);
  });
  await Promise.all([
    execute({ rank: 1 }),
    execute({ rank: 1 }),
    execute({ rank: 2 })
  ]);
  expect(done).toEqual([1, 2]);
  await execute({ rank: 1 });
  expect(done).toEqual([1, 2, 1]);
});
