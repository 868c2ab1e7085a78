import { expect, it } from 'vitest';

import { nullTranslator } from '@jupyterlab/translation';

import { makeCluster, makeVerdict } from '../../testing/clusters';
import { HangPosition } from '../../tokens';
import { notebookOf } from '../model/notebookOf';
import { marksOfVerdict } from './verdictMarks';

const trans = nullTranslator.load('');
const NOTEBOOK = '/home/me/work/train.ipynb';

function stands(more: Partial<HangPosition>): HangPosition {
  return {
    ranks: [0],
    blamed: false,
    left: false,
    operation: 'all_reduce',
    sequence: 7,
    bytes: null,
    where: at('[7]', 10),
    ...more
  };
}

function at(cell: string | null, line: number): HangPosition['where'] {
  return {
    notebook: NOTEBOOK,
    cell,
    cell_id: cell && `id-${cell}`,
    cell_kind: 'cell',
    called_from: null,
    file: cell ? null : '/home/me/work/data.py',
    function: null,
    line
  };
}

it('says at their lines who is stuck and who waits', () => {
  const verdict = makeVerdict({
    standings: [
      stands({
        ranks: [5],
        blamed: true,
        operation: null,
        where: at('[7]', 6)
      }),
      stands({ ranks: [0, 1, 2, 3, 4, 6, 7] }),
      stands({ ranks: [8], where: at('[3]', 2) }),
      stands({ ranks: [9], where: at(null, 40) }),
      stands({ ranks: [10], where: null })
    ]
  });
  const cluster = makeCluster({
    metrics: { ...makeCluster().metrics, verdicts: [verdict] }
  });
  const marks = marksOfVerdict(cluster, trans);
  expect(marks.map(m => [m.place.cell, m.line, m.kind, m.text])).toEqual([
    ['[7]', 6, 'stuck', 'rank 5 is here'],
    ['[7]', 10, 'waits', 'ranks 0–4, 6–7 wait here'],
    ['[3]', 2, 'waits', 'rank 8 waits here']
  ]);
});

it('marks the line of a cell that called the function of a file in which ranks are', () => {
  const within = (line: number): HangPosition['where'] => {
    const called_from = at('[7]', line);
    return { ...at(null, 20)!, called_from };
  };
  const standings = [
    stands({ ranks: [1], blamed: true, operation: null, where: within(5) }),
    stands({ ranks: [0, 2], where: within(6) })
  ];
  const { metrics } = makeCluster();
  const verdicts = [makeVerdict({ standings })];
  const cluster = makeCluster({ metrics: { ...metrics, verdicts } });
  const marks = marksOfVerdict(cluster, trans);
  expect(marks.map(m => [m.place.cell, m.line, m.kind, m.text])).toEqual([
    ['[7]', 5, 'stuck', 'rank 1 is here, in data.py, line\u00a020'],
    ['[7]', 6, 'waits', 'ranks 0, 2 wait here, in data.py, line\u00a020']
  ]);
});

it('says of a rank that still computes that it does', () => {
  const standings = [
    stands({ ranks: [5], blamed: true, operation: null, where: at('[7]', 6) })
  ];
  const verdict = makeVerdict({ code: 'computing', standings });
  const { metrics } = makeCluster();
  const cluster = makeCluster({
    metrics: { ...metrics, verdicts: [verdict] }
  });
  expect(marksOfVerdict(cluster, trans)[0].text).toBe('rank 5 computes here');
});

it('counts ranks that are too many to name', () => {
  const odd = Array.from({ length: 20 }, (_, i) => 2 * i);
  const verdict = makeVerdict({
    standings: [
      stands({ ranks: odd }),
      stands({ ranks: odd.map(r => r + 1), blamed: true })
    ]
  });
  const cluster = makeCluster({
    metrics: { ...makeCluster().metrics, verdicts: [verdict] }
  });
  expect(marksOfVerdict(cluster, trans).map(m => m.text)).toEqual([
    '20 ranks wait here',
    '20 ranks are here'
  ]);
});

it('marks nothing for ranks that are slow, or of a cluster that goes on', () => {
  const slow = makeVerdict({ kind: 'slow', standings: [stands({})] });
  const cluster = makeCluster({
    metrics: { ...makeCluster().metrics, verdicts: [slow] }
  });
  expect(marksOfVerdict(cluster, trans)).toEqual([]);
  expect(marksOfVerdict(makeCluster(), trans)).toEqual([]);
});

it('debugs in the notebook whose cell the rank runs', () => {
  const running = [
    { cell: '[1]', notebook: '/a.ipynb', ranks: [0, 1] },
    { cell: '[4]', notebook: '/b.ipynb', ranks: [2, 3] }
  ].map(cell => ({
    ...cell,
    started_at: 1,
    cell_id: null,
    detached: false,
    kind: 'cell' as const
  }));
  const cluster = makeCluster({ running, notebooks: ['/first.ipynb'] });
  expect(notebookOf(cluster, 3)).toBe('/b.ipynb');
  expect(notebookOf(cluster, 7)).toBe('/a.ipynb');
  expect(notebookOf({ ...cluster, running: [] }, 3)).toBe('/first.ipynb');
  expect(notebookOf(makeCluster(), 0)).toBeNull();
});
