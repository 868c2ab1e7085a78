import { Cell } from '@jupyterlab/cells';
import { expect, it } from 'vitest';

import { lastOfRanks } from './cells';

it('finds the last cell with an output of ranks', () => {
  const cell = (
    type: string,
    run?: object,
    outputs: object[] = []
  ): Pick<Cell, 'model'> =>
    ({
      model: { type, outputs, getMetadata: () => run }
    }) as unknown as Pick<Cell, 'model'>;
  const run = { run: 'x' };
  const cells = [
    cell('code', run, [{}]),
    cell('code', run, [{}]),
    cell('code', run),
    cell('code', undefined, [{}]),
    cell('markdown')
  ];
  expect(lastOfRanks(cells)).toBe(1);
  expect(lastOfRanks([cell('code')])).toBe(-1);
});
