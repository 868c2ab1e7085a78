import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { Advice } from '../../tokens';
import { diffLines, placeOf } from './showChange';

it('takes a diff apart', () => {
  expect(diffLines('--- a\n+++ b\n@@ -1 +1 @@\n x\n-y\n+z')).toEqual([
    { kind: 'gap', text: '…' },
    { kind: 'same', text: 'x' },
    { kind: 'removed', text: 'y' },
    { kind: 'added', text: 'z' }
  ]);
});

it("names the notebook of the change's cell as it is called now: another one may be in front", () => {
  const trans = nullTranslator.load('x');
  const names = {
    notebookName: (path: string) => (path === 'a/t1.ipynb' ? 't3.ipynb' : path)
  };
  const place = (values: object): string =>
    placeOf({ diff: '+x', values } as unknown as Advice, names, trans);
  const cell = 'cell\u00a0[3]';
  expect(place({ cell: '[3]', notebook: 'a/t1.ipynb' })).toBe(
    `${cell} of t3.ipynb`
  );
  expect(place({ cell: '[3]' })).toBe(cell);
  expect(place({})).toBe('your cell');
});
