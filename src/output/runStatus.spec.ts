import { CodeCell } from '@jupyterlab/cells';
import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { KernelRecords } from '../locations/kernelRecords';
import { makeCluster, makeVerdict } from '../testing/clusters';
import { record } from '../testing/record';
import { CellRecord, Cluster, Verdict } from '../tokens';
import { IRun } from './runs/storedRun';
import { IRunStatus, problemOf, runStatusOf } from './runStatus';
import { glyphOf, problemText, timeText } from './runTexts';

const names = new KernelRecords();
const trans = nullTranslator.load('dtrain_lab');
/** A cell whose ranks have printed nothing. */
const QUIET = { failure: null, ranks: [] };
const FAILED = {
  failure: { sentence: 'x', rows: [], interrupted: false },
  ranks: []
};

const cell = (
  count: number | null,
  source = '%%distributed\nx',
  outputs = 0
): CodeCell =>
  ({
    model: {
      executionCount: count,
      outputs: { length: outputs },
      sharedModel: { getSource: () => source }
    }
  }) as unknown as CodeCell;

function status(
  more: Partial<CellRecord>,
  verdicts: Verdict[] = []
): IRunStatus {
  const cluster = makeCluster();
  const metrics = { ...cluster.metrics, verdicts };
  const found = { record: record(more), cluster: { ...cluster, metrics } };
  return runStatusOf(cell(null), found, null, false, QUIET, names);
}

const RUNNING = { state: 'running' as const, ended_at: null };

it('never says done of what is not known to be', () => {
  const of = (
    count: number | null,
    run: IRun | null,
    source?: string
  ): string | null =>
    runStatusOf(cell(count, source), null, run, false, QUIET, names).state;
  const run: IRun = { run: 'x.1', state: 'running', ranks: [0, 1] };
  expect(of(null, run)).toBeNull();
  expect(of(null, null)).toBeNull();
  expect(of(3, null)).toBe('done');
  expect(of(3, null, '%%distributed --no-wait\nx')).toBeNull();
  expect(of(3, null, '%distributed output')).toBeNull();
  expect(of(3, null, '%distributed wait')).toBe('done');
  const kept: IRun = { ...run, state: 'interrupted', started: 1, ended: 3 };
  expect(
    runStatusOf(cell(null, undefined, 1), null, kept, false, QUIET, names)
  ).toMatchObject({
    state: 'interrupted',
    seconds: 2,
    ranks: [0, 1]
  });
  const done: IRun = { ...kept, state: 'done' };
  expect(of(3, done)).toBe('done');
  // outputs and numbers were stripped from the notebook
  for (const state of ['done', 'failed', 'interrupted', 'not run'] as const) {
    expect(of(null, { ...kept, state })).toBeNull();
    // it had none when its cluster ended
    expect(of(null, { ...kept, state, silent: true })).toBe(state);
  }
  expect(
    runStatusOf(cell(null, undefined, 1), null, done, false, QUIET, names).state
  ).toBe('done'); // the notebook was saved during the run
  // the cluster was stopped, so there is no record: the failure is still shown
  expect(runStatusOf(cell(3), null, run, false, FAILED, names)).toMatchObject({
    state: 'failed',
    ranks: [0, 1]
  });
  expect(runStatusOf(cell(null), null, run, true, QUIET, names).state).toBe(
    'waiting'
  );
});

it('does not say queued of a run whose record is gone with its cluster', () => {
  const of = (seen: IRun | null): IRunStatus =>
    runStatusOf(cell(null), null, null, true, QUIET, names, seen);
  const run: IRun = { run: 'x.1', state: 'running', ranks: [0, 1], started: 1 };
  expect(of(run)).toMatchObject({ state: 'running', ranks: [0, 1] });
  expect(timeText(of(run), trans)).toContain('running for');
  expect(of({ ...run, ended: 3 }).seconds).toBe(2);
  expect(timeText(of({ ...run, state: 'waiting' }), trans)).toBe('queued');
  expect(timeText(of(null), trans)).toBe('queued');
});

it('says that the end of a run is not known, where no cluster knows it', () => {
  const run: IRun = { run: 'x.1', state: 'running', ranks: [0, 1] };
  const known = runStatusOf(cell(null), null, run, false, QUIET, names);
  expect(glyphOf(known, trans)).toBeNull(); // a cluster's record may still arrive
  expect(glyphOf({ ...known, noEnd: true }, trans)?.kind).toBe('off');
});

it('counts the time of the ranks', () => {
  expect(status({}).seconds).toBe(2.5);
  expect(timeText(status({}), trans)).toBe('2.5\u00a0s');
  const waits = status({
    state: 'waiting',
    started_at: null,
    ended_at: null
  });
  expect(waits.seconds).toBeNull();
});

it('says whom a cell waits for', () => {
  const kind = 'cell';
  const of = (waits_for: CellRecord['waits_for']): string =>
    timeText(status({ state: 'waiting', started_at: null, waits_for }), trans);
  expect(of([{ cell: '[3]', notebook: '/x/other.ipynb', kind }])).toBe(
    'waiting for [3] of other.ipynb'
  );
  expect(of([{ cell: '[2]', notebook: '/home/u/work/a.ipynb', kind }])).toBe(
    'waiting for [2]'
  );
  expect(of([{ cell: null, notebook: null, kind }])).toContain('a program');
  expect(of([])).toBe('waiting for ranks');
  const debugged = {
    cell: '%debug',
    notebook: '/home/u/work/a.ipynb',
    kind: 'post_mortem' as const
  };
  expect(of([debugged])).toBe(
    'waiting until the ranks in the debugger continue'
  );
  const waits = status({
    state: 'waiting',
    started_at: null,
    waits_for: [debugged]
  });
  const running = [
    { kind: 'post_mortem', ranks: [0, 1] }
  ] as unknown as Cluster['running'];
  // rank 0 was continued alone
  const ranks = ['idle', 'paused'].map((state, rank) => ({
    ...waits.cluster!.ranks[0],
    rank,
    state: state as Cluster['ranks'][number]['state']
  }));
  const cluster = { ...waits.cluster!, ranks, running };
  expect(timeText({ ...waits, cluster }, trans)).toBe(
    'waiting until rank 1, paused in the debugger, continues'
  );
});

it('tells of trouble on its own ranks, of what needs somebody first', () => {
  const slow = makeVerdict({ kind: 'slow', text: 'Rank 1 is slow.' });
  const stuck = status(RUNNING, [slow, makeVerdict({})]);
  const found = problemOf(stuck);
  expect(found?.alarm).toBe(true);
  expect(glyphOf(stuck, trans)?.kind).toBe('stuck');
  expect(problemText(found!, trans)).toBe(
    'Rank 1 is stuck. 1 rank waits for it in all_reduce, for 14\u00a0s.'
  );
  expect(problemText({ ...found!, code: 'computing' }, trans)).toBe(
    'Rank 1 is still computing. 1 rank waits for it in all_reduce, for 14\u00a0s.'
  );
  const computes = makeVerdict({ code: 'computing' });
  expect(glyphOf(status(RUNNING, [computes]), trans)?.word).toBe(
    'still computing'
  );
  const ended = 'Rank 0 waits in all_reduce; rank 1 has finished the cell.';
  const left = makeVerdict({ code: 'ended', text: ended });
  expect(problemText(left, trans)).toBe(`${ended} 14\u00a0s`);
  const merely = status(RUNNING, [slow]);
  expect(problemOf(merely)).toBe(slow);
  expect(glyphOf(merely, trans)?.kind).toBe('slow');
  const hungry = makeVerdict({ kind: 'input_bound', code: 'waits_for_data' });
  expect(problemOf(status(RUNNING, [hungry]))).toBe(hungry);
  const all = makeVerdict({ kind: 'input_bound', ranks: [], peers: [] });
  expect(problemOf(status(RUNNING, [all]))).toBe(all);
  expect(glyphOf(status(RUNNING, [all]), trans)?.kind).toBe('slow');
  const elsewhere = makeVerdict({ ranks: [7], peers: [6] });
  expect(problemOf(status(RUNNING, [elsewhere]))).toBeNull();
  expect(problemOf(status({}, [makeVerdict({})]))).toBeNull();
});

it('runs once ranks have printed, and is done once the kernel says so, where the cluster says it later', () => {
  const of = (
    more: Partial<CellRecord> | null,
    ranks: readonly number[],
    count: number | null,
    errors = 0
  ): IRunStatus['state'] => {
    const one = cell(count, undefined, errors);
    const outputs = { length: errors, get: () => ({ type: 'error' }) };
    Object.assign(one.model, { outputs });
    const cluster = makeCluster();
    const found = more && { record: record(more), cluster };
    const output = { failure: null, ranks };
    const live = count === null;
    return runStatusOf(one, found, null, live, output, names).state;
  };
  const waits = { state: 'waiting' as const, started_at: null, ended_at: null };
  expect([of(null, [], null), of(null, [0], null)]).toEqual([
    'waiting',
    'running'
  ]);
  expect([of(waits, [], null), of(waits, [1], null)]).toEqual([
    'waiting',
    'running'
  ]);
  expect([of(RUNNING, [0], null), of(RUNNING, [0], 3)]).toEqual([
    'running',
    'done'
  ]);
  // ranks may run on where only the kernel was interrupted, where it does not wait, and in an earlier cell
  expect(of(RUNNING, [0], 3, 1)).toBe('running');
  expect(of({ ...RUNNING, detached: true }, [0], 3)).toBe('running');
  expect(of(RUNNING, [0], 2)).toBe('running');
});
