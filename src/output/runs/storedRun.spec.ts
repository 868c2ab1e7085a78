import { expect, it } from 'vitest';

import { makeCluster } from '../../testing/clusters';
import { record, result } from '../../testing/record';
import {
  endedRanks,
  enameOf,
  INotebook,
  isOf,
  leftRun,
  misses,
  readRun,
  runOf,
  stateOf
} from './storedRun';

const notebook = (more: Partial<INotebook> = {}): INotebook => ({
  kernel: 'k1',
  path: 'a.ipynb',
  root: '/home/u/work',
  elsewhere: () => false,
  ...more
});

it('knows a notebook by its kernel or by its path, and no copy of it', () => {
  expect(isOf(record(), notebook())).toBe(true);
  // the notebook has another kernel since: it was restarted, or opened again
  expect(isOf(record(), notebook({ kernel: 'k2' }))).toBe(true);
  expect(isOf(record(), notebook({ kernel: 'k2', root: '' }))).toBe(true);
  // the notebook was renamed while it was open
  expect(isOf(record(), notebook({ path: 'sub/b.ipynb' }))).toBe(true);
  // copies, including one of the same name in another folder
  const copy = { kernel: 'k2', path: 'a-Copy1.ipynb' };
  expect(isOf(record(), notebook(copy))).toBe(false);
  expect(isOf(record(), notebook({ kernel: 'k2', path: 'b/a.ipynb' }))).toBe(
    false
  );
  // the original was renamed, and another notebook has its name now
  const taken = notebook({ kernel: 'k2', elsewhere: k => k === 'k1' });
  expect(isOf(record(), taken)).toBe(false);
});

it('knows of which ranks the processes that ran a cell have ended', () => {
  const cluster = makeCluster();
  const ended = (replaced: number[], ranks = [0, 1]): number[] => [
    ...endedRanks({ record: record({ replaced }), cluster }, ranks, false)
  ];
  expect(ended([])).toEqual([]);
  expect(ended([1])).toEqual([1]);
  cluster.ranks[0].state = 'lost';
  expect(ended([1])).toEqual([0, 1]);
  expect(ended([], [1, cluster.ranks.length])).toEqual([cluster.ranks.length]);
  expect([...endedRanks(null, [0, 1], true)]).toEqual([0, 1]);
  expect([...endedRanks(null, [0, 1], false)]).toEqual([]);
});

const failure = {
  rank: 0,
  kind: 'raised',
  type: 'ValueError',
  message: '',
  frames: [],
  detail: [],
  operation: null
};

it('calls an error by its kind, as the kernel does', () => {
  const stopped = { ...failure, kind: 'stopped' };
  const of = (...failures: (typeof failure)[]): string =>
    enameOf({ interrupted: false, failures } as never);
  expect(of(stopped, stopped)).toBe('RanksStopped');
  expect(of(stopped, failure)).toBe('RanksFailed');
  expect(of()).toBe('RanksFailed');
});

it('says how a run stands', () => {
  expect(stateOf(record({ state: 'waiting' }))).toBe('waiting');
  expect(stateOf(record({ state: 'running' }))).toBe('running');
  expect(stateOf(record({ result: result() }))).toBe('done');
  const failed = result({ failures: [failure] });
  expect(stateOf(record({ result: failed }))).toBe('failed');
  const interrupted = { ...failed, interrupted: true };
  expect(stateOf(record({ result: interrupted }))).toBe('interrupted');
  const never = result({
    failures: [{ ...failure, kind: 'lost', type: 'NotRun' }]
  });
  expect(stateOf(record({ result: never }))).toBe('not run');
});

it('keeps by codes what became of a run, and reads nothing else as such', () => {
  const said = [{ code: 'raised', values: { ranks: '0' }, text: 'Rank 0 …' }];
  const kept = runOf(record({ result: result({ said }) }));
  expect(kept.said).toEqual([{ code: 'raised', values: { ranks: '0' } }]);
  expect(readRun(kept)).toEqual(kept);
  const rest = { ...kept };
  delete rest.said;
  expect(readRun({ ...kept, said: ['Rank 0 failed.'] })).toEqual(rest);
});

it('misses what the notebook has not got whole', () => {
  const ended = record({ result: result() });
  const kept = runOf(ended);
  expect(kept).toEqual({
    run: 'x.1',
    state: 'done',
    ranks: [0, 1],
    started: 10,
    ended: 12.5
  });
  expect(misses(ended, null, null)).toBe(true);
  expect(misses(ended, kept, 3)).toBe(false);
  // the notebook was saved during the run
  const half = runOf(record({ state: 'running', ended_at: null }));
  expect(misses(ended, half, null)).toBe(true);
  // the kernel reported the end to this page before the head was queried
  expect(misses(ended, half, 3)).toBe(false);
  expect(misses(ended, null, 3, 'm1')).toBe(false);
  // the server has dropped part of the output
  expect(misses(ended, kept, 3, 'm1', true)).toBe(true);
  expect(misses(ended, { ...kept, cleared: true }, 3, 'm1', true)).toBe(false);
  // the notebook has an earlier run, even with the same number
  expect(misses(ended, { ...kept, run: 'x.0' }, 3)).toBe(true);
  // the user has cleared the output
  expect(misses(ended, { ...kept, cleared: true }, null)).toBe(false);
});

it('shows the output of a background cell in it only once it has failed', () => {
  const done = record({ detached: true });
  expect(misses(done, null, 3)).toBe(false);
  const failed = record({
    detached: true,
    result: result({ sentence: 'Rank 1 failed.' })
  });
  const running = runOf(record({ state: 'running', ended_at: null }));
  expect(misses(failed, running, 3)).toBe(true);
  expect(misses(failed, { ...running, cleared: true }, 3)).toBe(false);
  expect(misses(failed, { ...running, state: 'failed' }, 3)).toBe(false);
});

it('takes the end of a run from what its cluster has left, not from the end of the cluster', () => {
  const half = runOf(record({ state: 'running', ended_at: null }));
  const run = { ...half, cluster: 'c' };
  const ending = (by: string, at = 300): Parameters<typeof leftRun>[2] => ({
    code: 'stopping',
    values: { by, at },
    text: ''
  });
  const of = (
    left: Parameters<typeof leftRun>[1],
    by = 'terminal',
    at = 300
  ): ReturnType<typeof leftRun> => leftRun(run, left, ending(by, at), false);
  const done = record({ result: result() });
  const known = { ...runOf(done), partial: true };
  expect(known).toMatchObject({ state: 'done', started: 10, ended: 12.5 });
  expect(of(done)).toEqual(known);
  expect(leftRun(run, done, ending('idle'), true)).toEqual(runOf(done));

  // it ran until the cluster was stopped; no head knows that the server stops it
  const said = [{ code: 'stopped', values: { at: 12.6 }, text: '' }];
  const cut = record({ result: result({ said, failures: [failure] }) });
  const stopped = of(cut, 'shutdown', 13);
  expect(stopped).toMatchObject({ state: 'failed', started: 10, ended: 12.5 });
  expect(stopped.said?.[0].values).toEqual({ by: 'shutdown', at: 13 });
  expect(stopped.partial).toBe(true);
  expect(leftRun(run, cut, ending('shutdown'), true).partial).toBeUndefined();
  expect(of(cut, 'unknown').said?.[0].values).toEqual({ at: 12.6 });

  // the server has interrupted it before it stopped the cluster; long before that, its user has
  const taken = record({ result: result({ interrupted: true }) });
  expect(of(taken, 'shutdown', 13)).toMatchObject({
    state: 'failed',
    ended: 12.5,
    said: [{ code: 'stopped' }]
  });
  expect(of(taken, 'shutdown').state).toBe('interrupted');
  expect(of(taken, 'terminal', 13).state).toBe('interrupted');
});

it('reads no run from what is none', () => {
  expect(readRun(undefined)).toBeNull();
  expect(readRun({ run: 3 })).toBeNull();
});
