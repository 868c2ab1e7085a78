import { Notification } from '@jupyterlab/apputils';
import { ServerConnection } from '@jupyterlab/services';
import { nullTranslator } from '@jupyterlab/translation';
import { afterEach, expect, it, vi } from 'vitest';

import { makeCluster, makeFrame, makeVerdict } from '../testing/clusters';
import { makeLiveState } from '../testing/liveState';
import { CellRecord, Cluster } from '../tokens';
import { announceCells, announceLimit, announceProblems } from './notices';
import { Preferences } from './model/preferences';
import { ClusterRequests } from './model/requests';

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

it("tells that the scheduler's limit is near, twice for each limit", () => {
  vi.useFakeTimers({ now: 0 });
  const told = vi.spyOn(Notification, 'warning').mockReturnValue('');
  const model = makeLiveState();
  announceLimit(model, nullTranslator.load('x'));
  let limit: number | null = 3600;
  const at = (seconds: number): string[] => {
    vi.setSystemTime(seconds * 1000);
    const clusters = [makeCluster({ limit_at: limit, ends_at: limit })];
    model.receive(makeFrame(clusters));
    return told.mock.calls.splice(0).map(([text]) => text);
  };
  expect(at(100)).toEqual([]);
  expect(at(3010)).toEqual([
    'local-2: its allocation ends in 9\u00a0min 50\u00a0s. Save what you need.'
  ]);
  expect(at(3020)).toEqual([]);
  expect(at(3500)).toEqual([
    'local-2: its allocation ends in 1\u00a0min 40\u00a0s. Save what you need.'
  ]);
  expect(at(3550)).toEqual([]);
  limit = 7200; // it was raised
  expect(at(3590)).toEqual([]);
  expect(at(6700)).toHaveLength(1);
  limit = null;
  expect(at(6800)).toEqual([]);
});

const trans = nullTranslator.load('x');

function stuck(id: string, generation = 0): Cluster {
  const { metrics } = makeCluster();
  const verdicts = [makeVerdict({ id })];
  return makeCluster({
    metrics: { ...metrics, verdicts },
    summary: { code: 'stuck', values: {}, text: 'Rank 1 is stuck.' },
    world: { size: 2, generation }
  });
}

it('tells trouble once an episode, and not to somebody who sees it', () => {
  const told = vi.spyOn(Notification, 'error').mockReturnValue('');
  const model = makeLiveState();
  let seen = false;
  announceProblems(model, new Preferences(), trans, () => seen);
  const look = (cluster: Cluster): number => {
    model.receive(makeFrame([cluster]));
    model.changed.emit();
    return told.mock.calls.splice(0).length;
  };
  expect(look(stuck('a'))).toBe(1);
  expect(look(stuck('a'))).toBe(0);
  expect(look(makeCluster())).toBe(0);
  expect(look(stuck('b'))).toBe(1);
  seen = true;
  expect(look(makeCluster())).toBe(0);
  expect(look(stuck('c'))).toBe(0);
  seen = false; // it was seen
  expect(look(stuck('c'))).toBe(0);
});

it('asks whether the cell is in view that a lost rank has ended', () => {
  const told = vi.spyOn(Notification, 'error').mockReturnValue('');
  const model = makeLiveState();
  announceProblems(
    model,
    new Preferences(),
    trans,
    ({ running }) => running.length > 0
  );
  const cell = { cell: '[3]', notebook: '/x', ranks: [0, 1], started_at: 1 };
  const runs = makeCluster({
    running: [{ ...cell, cell_id: null, detached: false, kind: 'cell' }]
  });
  model.receive(makeFrame([runs]));
  const lost = { ...stuck('a'), running: [] };
  model.receive(makeFrame([lost]));
  expect(told).not.toHaveBeenCalled();
  const other = { ...lost, id: 'other' };
  model.receive(makeFrame([lost, other]));
  expect(told).toHaveBeenCalledTimes(1);
});

it('tells a loss among idle ranks, although the cell that ended before it is in view', () => {
  const told = vi.spyOn(Notification, 'error').mockReturnValue('');
  const model = makeLiveState();
  announceProblems(
    model,
    new Preferences(),
    trans,
    ({ running }) => running.length > 0
  );
  const cell = { cell: '[3]', notebook: '/x', ranks: [0, 1], started_at: 1 };
  const runs = makeCluster({
    running: [{ ...cell, cell_id: null, detached: false, kind: 'cell' }]
  });
  const idle = { ...runs, running: [] };
  const lost = { ...stuck('a'), running: [] };
  [runs, idle, lost].forEach(now => model.receive(makeFrame([now])));
  expect(told).toHaveBeenCalledTimes(1);
});

it("tells no end of one's own look at where a cell failed", async () => {
  const told = vi.spyOn(Notification, 'success').mockReturnValue('');
  const model = makeLiveState();
  const preferences = new Preferences();
  preferences.configure({ notifyCellsAfter: 0 });
  const actions = new ClusterRequests(
    ServerConnection.makeSettings(),
    () => undefined
  );
  const cells = vi.spyOn(actions, 'cells');
  announceCells(model, preferences, actions, trans, () => false);
  for (const kind of ['post_mortem', 'diagnosis'] as const) {
    const run = {
      cell: 'diagnose',
      notebook: null,
      ranks: [0],
      started_at: 1,
      kind
    };
    const result = { sentence: '', interrupted: false, elapsed_s: 75 };
    cells.mockResolvedValue([{ ...run, result } as unknown as CellRecord]);
    for (const running of [[{ ...run, cell_id: null, detached: false }], []]) {
      model.receive(makeFrame([makeCluster({ running })]));
    }
    await new Promise(resolve => setTimeout(resolve));
  }
  expect(told.mock.calls.map(([text]) => text)).toEqual([
    'local-2 diagnosis has ended after 1\u00a0min 15\u00a0s.'
  ]);
});

it("tells the end of one's own interrupt without an alarm", async () => {
  const alarm = vi.spyOn(Notification, 'error').mockReturnValue('');
  const calm = vi.spyOn(Notification, 'info').mockReturnValue('');
  const model = makeLiveState();
  const preferences = new Preferences();
  preferences.configure({ notifyCellsAfter: 0 });
  const actions = new ClusterRequests(
    ServerConnection.makeSettings(),
    () => undefined
  );
  const record = (interrupted: boolean): CellRecord =>
    ({
      started_at: 1,
      cell: '[3]',
      kind: 'cell',
      notebook: '/x/train.ipynb',
      result: { sentence: 'Ranks 0–1 were interrupted.', interrupted }
    }) as unknown as CellRecord;
  const cells = vi.spyOn(actions, 'cells');
  announceCells(model, preferences, actions, trans, () => false);
  const end = async (interrupted: boolean): Promise<void> => {
    cells.mockResolvedValue([record(interrupted)]);
    const running = [
      {
        cell: '[3]',
        notebook: '/x',
        ranks: [0],
        started_at: 1,
        cell_id: null,
        detached: false,
        kind: 'cell' as const
      }
    ];
    for (const now of [running, []]) {
      const clusters = [makeCluster({ running: now })];
      model.receive(makeFrame(clusters));
    }
    await new Promise(resolve => setTimeout(resolve));
  };
  await end(true);
  expect([alarm.mock.calls.length, calm.mock.calls.length]).toEqual([0, 1]);
  await end(false);
  expect([alarm.mock.calls.length, calm.mock.calls.length]).toEqual([1, 1]);
});
