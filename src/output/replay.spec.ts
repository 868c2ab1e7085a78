import { expect, it } from 'vitest';

import { asNotebook } from './replay';

const record = {
  id: 'x.1',
  cell: '[3]',
  ranks: [0, 1],
  state: 'ended' as const,
  first_seq: 0,
  notebook: null,
  cell_id: 'c',
  detached: false,
  started_at: 1,
  result: null
};

const entry = (
  seq: number,
  rank: number,
  text: string | null,
  data = null
) => ({
  seq,
  time: 0,
  cell: '[3]',
  ranks: [rank],
  kind: 'stdout' as const,
  text,
  data
});

it('puts a journal back as labelled lines, whole even where texts were cut', () => {
  const outputs = [
    entry(0, 0, 'half '),
    entry(1, 1, 'other\n'),
    entry(2, 0, 'line\nopen'),
    entry(3, 1, '\r10%\r100%\n')
  ];
  expect(asNotebook(record, outputs)).toEqual([
    {
      output_type: 'stream',
      name: 'stdout',
      text: '[1] other\n[0] half line\n[1] 100%\n[0] open\n'
    }
  ]);
});

it('puts back displays with their rank, and the failure', () => {
  const shown = {
    ...entry(0, 1, null),
    kind: 'display_data' as const,
    data: { data: { 'text/html': '<b>' }, metadata: {} }
  };
  const failed = {
    ...record,
    result: {
      cell: 'x.1',
      ranks: [0, 1],
      failures: [],
      sentence: 'Rank 1 failed.',
      elapsed_s: 1,
      timed_out: false,
      traceback: ['Rank 1 failed.', '', 'Rank 1: ValueError: x']
    }
  };
  expect(asNotebook(failed, [shown])).toEqual([
    {
      output_type: 'display_data',
      data: { 'text/html': '<b>' },
      metadata: { dtrain: { rank: 1 } }
    },
    {
      output_type: 'error',
      ename: 'RanksFailed',
      evalue: 'Rank 1 failed.',
      traceback: ['Rank 1 failed.', '', 'Rank 1: ValueError: x']
    }
  ]);
});
