import { CellRecord } from '../tokens';

type CellResult = NonNullable<CellRecord['result']>;

/** The record of an ended cell, as a head sends it. */
export function record(more: Partial<CellRecord> = {}): CellRecord {
  return {
    id: 'x.1',
    cell: '[3]',
    ranks: [0, 1],
    state: 'ended',
    first_seq: 0,
    notebook: '/home/u/work/a.ipynb',
    cell_id: 'c',
    detached: false,
    started_at: 10,
    ended_at: 12.5,
    waits_for: [],
    kind: 'cell',
    kernel: 'k1',
    request: 'm1',
    result: null,
    failures: [],
    replaced: [],
    ...more
  };
}

/** The result of a cell that has succeeded, as a head sends it. */
export function result(more: Partial<CellResult> = {}): CellResult {
  return {
    cell: 'x.1',
    ranks: [0, 1],
    failures: [],
    sentence: '',
    elapsed_s: 1,
    timed_out: false,
    interrupted: false,
    plain: false,
    traceback: [],
    said: [],
    ...more
  };
}
