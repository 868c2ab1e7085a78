import { expect, it } from 'vitest';

import { OpenConnections } from './openConnections';

it('knows the first open connection to each kernel, and forgets those that have ended', () => {
  const open = new OpenConnections();
  const [one, other, next] = ['a', 'a', 'b'].map(id => ({
    id,
    isDisposed: false
  }));
  expect([one, other, one].map(each => open.add(each))).toEqual([
    true,
    true,
    false
  ]);
  expect([one, other].map(each => open.isFirst(each))).toEqual([true, false]);
  one.isDisposed = true;
  expect([one, other].map(each => open.isFirst(each))).toEqual([false, true]);
  other.isDisposed = true;
  open.add(next);
  expect(open.size).toBe(1);
});
