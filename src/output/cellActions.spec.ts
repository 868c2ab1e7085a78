import { CodeCell } from '@jupyterlab/cells';
import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { makeCluster } from '../testing/clusters';
import { record } from '../testing/record';
import { lostIn, whyNotShown } from './cellActions';

const trans = nullTranslator.load('dtrain_lab');

it('has no process to look into where a rank was lost, replaced, or left out of a smaller cluster', () => {
  const cluster = makeCluster();
  const of = (rank: number, replaced: number[] = []): string =>
    lostIn(
      {
        state: 'failed',
        record: record({ replaced }),
        cluster,
        seconds: 1,
        ranks: [0, 1]
      },
      rank,
      trans
    );
  expect(of(1)).toBe('');
  expect(of(1, [1])).toMatch(/^Rank 1 has been replaced by a new process/);
  expect(of(0, [1])).toBe('');
  expect(of(cluster.ranks.length)).toMatch(/^There is no rank \d+ any more\.$/);
  cluster.ranks[1].state = 'lost';
  expect(of(1, [1])).toBe('Rank 1 was lost.');
});

it('says why lines that only the journal has are not available', () => {
  const why = (isUnknown: boolean, isCopied: boolean): string =>
    whyNotShown(
      { isUnknown: () => isUnknown, isCopied: () => isCopied },
      {} as CodeCell,
      trans
    );
  expect(why(true, false)).toContain(
    'the cluster that ran this cell has ended'
  );
  expect(why(true, true)).toContain('Only the notebook that ran the cell');
  expect(why(false, false)).toBe('');
});
