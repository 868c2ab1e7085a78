import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { makeCluster, makeRank, makeVerdict } from '../../testing/clusters';
import { Cluster } from '../../tokens';
import { reportText } from './clusterReport';

const trans = nullTranslator.load('dtrain_lab');
const AT = Date.UTC(2026, 2, 2, 12, 6, 31);

it('is Markdown that a person reads: the sentence, what is known, a row a rank', () => {
  const ranks = [
    makeRank(0, { step: 7, step_s: 0.2 }),
    makeRank(1, { state: 'lost', step: null })
  ];
  const lost = {
    rank: 1,
    why: 'Killed by signal 9.',
    at: 0,
    cell: '[7]',
    notebook: '/home/u/train.ipynb',
    cell_id: null,
    last: '',
    line: 4,
    cell_kind: 'cell' as const
  };
  const rows = reportText(
    makeCluster({ ranks, lost: [lost] }),
    trans,
    AT
  ).split('\n');
  expect(rows[0]).toBe(
    '**local-2**: Ready. 2 ranks wait for a cell. (2026-03-02 12:06:31 UTC)'
  );
  expect(rows).toContain('- 2 ranks on 1 node, profile local');
  expect(rows).toContain(
    '- rank 1 was lost in cell [7], line 4: Killed by signal 9.'
  );
  const table = rows.filter(row => row.startsWith('|'));
  expect(table).toHaveLength(4);
  expect(table[2]).toMatch(/^\| 1 \|.*lost/);
  expect(table[3]).toMatch(/^\| 0 \|.*\| 7 \| 200\sms \|/);
  // each row has as many cells as the head
  expect(new Set(table.map(row => row.split('|').length)).size).toBe(1);
});

it('says whose failure ranks are held at', () => {
  const running = [
    {
      cell: '[5]',
      kind: 'post_mortem',
      ranks: [1],
      notebook: '/home/u/debug.ipynb'
    }
  ] as unknown as Cluster['running'];
  const text = reportText(makeCluster({ running }), trans, AT);
  expect(text.replace(/\u00a0/g, ' ')).toContain(
    'is paused where cell [5] of debug.ipynb has failed, on rank 1'
  );
});

it('tells the rank that has failed from those that were paused with it', () => {
  const running = [
    {
      cell: '[2]',
      kind: 'post_mortem',
      ranks: [0, 1, 2],
      notebook: '/home/u/debug.ipynb'
    }
  ] as unknown as Cluster['running'];
  const ranks = [0, 1, 2].map(r => makeRank(r, { state: 'paused' }));
  const values = { ranks: '0-2', count: 3, total: 3, raised: '1', error: 'E' };
  const summary = { code: 'paused', values, text: 'Paused on 3 ranks.' };
  const cluster = makeCluster({ state: 'paused', running, ranks, summary });
  const text = reportText(cluster, trans, AT).replace(/\u00a0/g, ' ');
  expect(text).toContain(
    '- is paused where cell [2] of debug.ipynb has failed, on rank 1\n' +
      '- is paused where that failure ended the cell, on ranks 0, 2\n'
  );
  const rows = text.split('\n').filter(row => /^\| \d/.test(row));
  expect(rows.map(row => row.split(' | ')[2])).toEqual([
    'paused, failed',
    'paused',
    'paused'
  ]);
});

it('has the ranks that stand out of many, and counts the others', () => {
  const ranks = Array.from({ length: 64 }, (_, i) =>
    makeRank(i, { slow: i === 37 })
  );
  const text = reportText(makeCluster({ ranks }), trans, AT);
  const table = text.split('\n').filter(row => row.startsWith('|'));
  expect(table).toHaveLength(18);
  expect(table[2]).toMatch(/^\| 37 \|.*, slow \|/);
  expect(text).toContain('and 48 more ranks');
});

it('has what the card says of a hang: where each rank stands, and since when', () => {
  const place = { cell: '[7]', line: 4 };
  const verdict = makeVerdict({
    ranks: [1],
    peers: [0],
    since_s: 14,
    standings: [
      { ranks: [1], blamed: true, where: place },
      { ranks: [0], blamed: false, operation: 'all_reduce', sequence: 12 }
    ] as never
  });
  const ranks = [makeRank(0, { state: 'in collective' }), makeRank(1)];
  const cluster = makeCluster({ ranks });
  const metrics = { ...cluster.metrics, verdicts: [verdict] };
  const text = reportText({ ...cluster, metrics }, trans, AT);
  const plain = text.replace(/\u00a0/g, ' ');
  expect(plain).toContain('- Rank 1: cell [7], line 4\n');
  expect(plain).toContain(
    '- Rank 0: in all_reduce, collective no. 12 of this cell\n'
  );
  expect(plain).toContain('- since 14 s\n- Often its data ended early.');
  expect(plain).toMatch(
    /\| 0 \|.*\| in all_reduce, collective no. 12 of this cell \|.*\| 14 s \|/
  );
});
