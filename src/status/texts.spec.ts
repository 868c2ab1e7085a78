import { expect, it } from 'vitest';

import { nullTranslator } from '@jupyterlab/translation';

import { makeCluster, makeRank, makeVerdict } from '../testing/clusters';
import { jobNote } from '../job/list/sidebarSection';
import { ActiveSweeps, Cluster, ILiveState, Job, Sweep } from '../tokens';
import { jobsText, statusOf, statusText, stuckJobs, subjectOf } from './texts';

const trans = nullTranslator.load('');

function withMetrics(more: Partial<Cluster['metrics']>): Cluster {
  return makeCluster({ metrics: { ...makeCluster().metrics, ...more } });
}

it('speaks of the notebook in front, of problems elsewhere, and without a notebook of what the panel shows', () => {
  const own = makeCluster({ id: 'a', notebooks: ['a.ipynb'] });
  const other = makeCluster({ id: 'b', name: 'sft', notebooks: ['b.ipynb'] });
  const ended = makeCluster({ id: 'c', state: 'failed', notebooks: [] });
  const all = [own, other, ended];
  expect(subjectOf(all, own, other).cluster).toBe(own);
  const none = subjectOf(all.slice(0, 2), null, other);
  expect(none).toEqual({ cluster: null, others: 2 });
  expect(statusOf(none.cluster, 'open', trans, none.others)).toMatchObject({
    text: 'No cluster · 2 other clusters',
    short: 'No cluster · 2 other clusters'
  });
  expect(subjectOf([own, other], undefined, other).cluster).toBe(other);
  // the panel may show one that has ended: others that run come first
  expect(subjectOf([own, other], undefined, ended).cluster).toBe(other);
  expect(subjectOf([], undefined, ended).cluster).toBe(ended);
  const stuck = { ...other, ...withMetrics({ verdicts: [makeVerdict()] }) };
  expect(subjectOf([stuck], null, null).cluster).toBe(stuck);
});

it('names the stuck rank and for how long', () => {
  const stuck = makeVerdict({ ranks: [5], since_s: 14.2 });
  expect(statusText(withMetrics({ verdicts: [stuck] }), trans)).toBe(
    'local-2: rank 5 is stuck, 14\u00a0s'
  );
  const more = makeVerdict({ ranks: [3, 4, 5], since_s: 74 });
  expect(statusText(withMetrics({ verdicts: [more] }), trans)).toBe(
    'local-2: ranks 3–5 are stuck, 1\u00a0min 14\u00a0s'
  );
});

it('says another problem by its code, and not by its English text', () => {
  const text = 'Worded in another way. By a newer head.';
  const values = { called: 'broadcast', expected: 'all_reduce' };
  const verdict = makeVerdict({
    kind: 'mismatch',
    code: 'mismatch',
    values,
    text
  });
  const cluster = withMetrics({ verdicts: [{ ...verdict, ranks: [3] }] });
  cluster.summary = { code: 'mismatch', values, text };
  expect(statusText(cluster, trans)).toBe(
    'local-2: rank 3 called broadcast, rank 0 all_reduce, 14\u00a0s'
  );
  const lost = makeCluster({
    state: 'degraded',
    ranks: [makeRank(0), makeRank(1, { state: 'lost' })],
    summary: { code: 'lost', values: { failed: true }, text }
  });
  expect(statusText(lost, trans)).toBe('local-2: rank 1 was lost');
  const failed = makeCluster({
    state: 'failed',
    summary: { code: 'x', values: {}, text: 'local-2 has failed: no disk.' }
  });
  expect(statusText(failed, trans)).toBe('local-2 has failed: no disk');
});

it('says of each rank what it called, and no more where there is little room', () => {
  const verdict = makeVerdict({
    kind: 'mismatch',
    code: 'mismatch',
    ranks: [1, 2],
    peers: [0],
    values: {
      called: 'all_reduce float32[1000]',
      expected: 'broadcast float32[1000] from rank 0',
      calls: [
        { ranks: '1', call: 'all_reduce float32[1000]' },
        { ranks: '2', call: 'barrier' }
      ]
    }
  });
  const cluster = withMetrics({ verdicts: [verdict] });
  expect(statusOf(cluster, 'open', trans)).toMatchObject({
    text: 'local-2: rank 1 called all_reduce, rank 2 barrier, rank 0 broadcast, 14\u00a0s',
    short: 'local-2: collectives differ, 14\u00a0s'
  });
});

it('leaves the last metric out where there is little room, and all of them once it has ended', () => {
  const metrics = { samples_per_s: 1286, comm_overhead: 0.23, current: true };
  const cluster = withMetrics(metrics);
  expect(statusOf(cluster, 'open', trans)).toMatchObject({
    text: 'local-2: 2 ranks · 1,286 samples/s · communication 23\u00a0%',
    short: 'local-2: 2 ranks · 1,286 samples/s'
  });
  expect(statusText({ ...cluster, state: 'stopped' }, trans)).toBe(
    'local-2: 2 ranks · stopped'
  );
});

it('shows the whole text of a problem whose code is new to it', () => {
  const text = 'Rank 1 sees version 2.1 of NCCL. Rank 0 sees 2.2.';
  const verdict = makeVerdict({ code: 'evaporated', text, since_s: null });
  expect(statusText(withMetrics({ verdicts: [verdict] }), trans)).toBe(
    'local-2: Rank 1 sees version 2.1 of NCCL. Rank 0 sees 2.2'
  );
});

it('alarms where a rank has failed and others still run the cell', () => {
  const values = { ranks: '1', still: '0' };
  const cluster = makeCluster({
    summary: { code: 'failing', values, text: 'Worded in another way.' }
  });
  expect(statusOf(cluster, 'open', trans)).toMatchObject({
    text: 'local-2: rank 1 failed, rank 0 is still running',
    glyph: 'failed',
    needsAttention: true
  });
});

it('says in a few words that ranks are paused', () => {
  const paused = makeCluster({
    state: 'paused',
    ranks: [makeRank(0, { state: 'paused' }), makeRank(1)],
    summary: { code: 'paused', values: {}, text: 'Paused on 1 rank.' }
  });
  expect(statusText(paused, trans)).toBe('local-2: paused on 1 rank');
  const values = { waiting: '1', operations: 'all_reduce' };
  const beside = { ...paused, summary: { ...paused.summary, values } };
  expect(statusOf(beside, 'open', trans)).toMatchObject({
    text: 'local-2: paused on 1 rank, rank 1 waits in all_reduce',
    short: 'local-2: paused on 1 rank'
  });
});

it('shows metrics of steps that are made now only', () => {
  const metrics = { samples_per_s: 1286, comm_overhead: 0.23 };
  expect(statusText(withMetrics({ ...metrics, current: true }), trans)).toBe(
    'local-2: 2 ranks · 1,286 samples/s · communication 23\u00a0%'
  );
  expect(statusText(withMetrics({ ...metrics, current: false }), trans)).toBe(
    'local-2: 2 ranks'
  );
});

it('names the slow rank before the metrics', () => {
  const slow = makeVerdict({ kind: 'slow', code: 'slow', ranks: [37] });
  const metrics = { samples_per_s: 8463, comm_overhead: 0.31 };
  expect(statusText(withMetrics({ ...metrics, verdicts: [slow] }), trans)).toBe(
    'local-2: rank 37 is slow · 8,463 samples/s · communication 31\u00a0%'
  );
  const behind = makeVerdict({ kind: 'slow', code: 'behind', ranks: [1] });
  expect(statusText(withMetrics({ verdicts: [behind] }), trans)).toBe(
    'local-2: rank 1 is behind'
  );
});

it('says how far a start is, and how long a request may wait', () => {
  const starting = makeCluster({
    state: 'starting',
    summary: { code: 'starting', values: { done: 49, total: 1024 }, text: '' }
  });
  expect(statusText(starting, trans)).toBe(
    'local-2: starting, 49 of 1,024 ranks'
  );
  const pending = makeCluster({
    state: 'pending',
    reason: { expected_start_at: 1320 } as Cluster['reason']
  });
  expect(statusText(pending, trans, { now: 0 })).toBe(
    'local-2: waiting, starts in about 22\u00a0min'
  );
});

it('claims nothing of a cluster without a server', () => {
  const stuck = withMetrics({ verdicts: [makeVerdict()] });
  expect(statusOf(stuck, 'open', trans).needsAttention).toBe(true);
  expect(statusOf(stuck, 'lost', trans)).toEqual({
    text: 'local-2: no connection',
    short: 'local-2: no connection',
    glyph: 'off',
    word: 'no connection',
    needsAttention: false
  });
  expect(statusOf(null, 'lost', trans).text).toBe('Distributed: no connection');
  expect(statusOf(null, 'open', trans).text).toBe('No cluster');
});

it('counts jobs as the panel does: those that have not ended, and a sweep as one', () => {
  let made = 0;
  const job = (state: Job['state'], sweep: string | null = null): Job =>
    ({ id: `j${made++}`, state, sweep }) as Job;
  const model = (jobs: readonly Job[], sweeps: ActiveSweeps = {}): ILiveState =>
    ({ jobs, sweeps }) as ILiveState;
  const jobs = [job('queued'), job('failed')];
  expect(jobsText(model(jobs.slice(1)), trans)).toBeNull();
  expect(jobsText(model(jobs), trans)).toBe('1 job active');
  const trials = [job('running', 's'), job('running', 's')];
  const both = model([...jobs, ...trials]);
  expect(jobsText(both, trans)).toBe('1 job, 1 sweep active');
  // also before its first trial, between two, and while the server's answers are of an earlier version
  for (const state of [
    model([], { s: 'running' }),
    model(trials, { s: 'running' }),
    model(trials)
  ]) {
    expect(jobsText(state, trans)).toBe('1 sweep active');
    expect(jobNote(state, trans)).toBe('1 active');
  }
  // its trials have ended, and it ends in a moment
  const stopped = [{ id: 's' } as Sweep];
  for (const left of [trials, []]) {
    expect(jobsText(model(left), trans, stopped)).toBe('1 sweep stopping');
    expect(jobNote(model(left), trans, stopped)).toBe('1 stopping');
    const told = model(left, { s: 'stopping' }); // it was stopped elsewhere
    expect(jobsText(told, trans)).toBe('1 sweep stopping');
  }
  expect(jobsText(model(jobs), trans, stopped)).toBe('1 job, 1 sweep active');
  const other = model([], { s: 'stopping', t: 'running' });
  expect(jobsText(other, trans)).toBe('2 sweeps active');
});

it('says that training waits for data, in the place of its communication', () => {
  const hungry = makeVerdict({
    kind: 'input_bound',
    code: 'input_bound',
    values: { share: 0.91 },
    ranks: [],
    peers: []
  });
  const metrics = { samples_per_s: 275, comm_overhead: 0.03 };
  const cluster = withMetrics({ ...metrics, verdicts: [hungry] });
  expect(statusOf(cluster, 'open', trans)).toMatchObject({
    text: 'local-2: waits for data, 91\u00a0% of a step · 275 samples/s',
    short: 'local-2: waits for data, 91\u00a0% of a step'
  });
  const measured = { ...hungry, values: { share: 0.55, error: 0.25 } };
  expect(
    statusOf(withMetrics({ ...metrics, verdicts: [measured] }), 'open', trans)
  ).toMatchObject({
    short: 'local-2: waits for data, 55\u00a0% ± 25 of a step'
  });
  const unsteady = { ...hungry, values: {} };
  const rough = withMetrics({ ...metrics, verdicts: [unsteady] });
  expect(statusOf(rough, 'open', trans)).toMatchObject({
    text: 'local-2: waits for data · 275 samples/s'
  });
});

it('says that a rank does not answer the interrupt', () => {
  const deaf = makeVerdict({ code: 'deaf', since_s: null });
  const cluster = withMetrics({ verdicts: [deaf] });
  expect(statusOf(cluster, 'open', trans)).toMatchObject({
    text: 'local-2: rank 1 does not answer the interrupt',
    glyph: 'stuck',
    needsAttention: true
  });
});

it('names a job whose rank is stuck, as it does a cluster', () => {
  const { metrics } = makeCluster();
  const stuck = makeVerdict({ ranks: [1], since_s: 14.2 });
  const job = (more: object): Job =>
    ({
      id: 'j',
      name: 'tune',
      state: 'running',
      summary: { code: 'stuck' },
      metrics: { ...metrics, verdicts: [stuck] },
      ...more
    }) as unknown as Job;
  const one = job({});
  expect(stuckJobs([job({ metrics }), one], trans)).toEqual({
    text: 'Job tune: rank 1 is stuck, 14\u00a0s',
    job: one
  });
  expect(stuckJobs([one, one], trans)).toEqual({
    text: '2 jobs are stuck',
    job: null
  });
  expect(stuckJobs([job({ state: 'failed' })], trans)).toBeNull();
  // a rank that the debugger has paused is where the user wants it
  expect(stuckJobs([job({ summary: { code: 'paused' } })], trans)).toBeNull();
});
