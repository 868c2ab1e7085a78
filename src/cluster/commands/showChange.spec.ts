import { expect, it } from 'vitest';

import { diffLines } from './showChange';

it('takes a diff apart', () => {
  expect(diffLines('--- a\n+++ b\n@@ -1 +1 @@\n x\n-y\n+z')).toEqual([
    { kind: 'gap', text: '…' },
    { kind: 'same', text: 'x' },
    { kind: 'removed', text: 'y' },
    { kind: 'added', text: 'z' }
  ]);
});
