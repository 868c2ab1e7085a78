import { expect, it } from 'vitest';

import { headText } from '../../testing/clusterHead';
import { makeCluster } from '../../testing/clusters';
import { Cluster } from '../../tokens';

type Waiting = Cluster['waiting'][number];

const cell = (label: string, notebook: string | null): Waiting => ({
  cell: label,
  notebook,
  cell_id: null,
  kind: 'cell'
});

it('says how many cells wait, and of which notebooks', () => {
  const said = (...waiting: Waiting[]): string =>
    headText(makeCluster({ waiting }));
  const b4 = cell('[4]', '/w/b.ipynb');
  expect(said()).not.toContain('wait.');
  expect(said(b4)).toContain('Cell [4] of b.ipynb waits.');
  expect(said(b4, cell('[9]', '/w/b.ipynb'))).toContain(
    '2 cells of b.ipynb wait.'
  );
  expect(said(b4, cell('[2]', '/w/c.ipynb'))).toContain(
    '2 cells of b.ipynb and c.ipynb wait.'
  );
  // of a Python program
  expect(said(cell('[1]', null))).toContain('1 cell waits.');
  expect(said({ ...b4, kind: 'diagnosis' })).not.toContain('waits.');
  const stopped = makeCluster({ state: 'stopped', waiting: [b4] });
  expect(headText(stopped)).not.toContain('waits.');
});
