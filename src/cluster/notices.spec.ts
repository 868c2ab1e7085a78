// alone: fake timers
import { Notification } from '@jupyterlab/apputils';
import { ServerConnection } from '@jupyterlab/services';
import { nullTranslator } from '@jupyterlab/translation';
import { afterEach, expect, it, vi } from 'vitest';

import { makeCluster, makeFrame, makeVerdict } from '../testing/clusters';
import { makeLiveState } from '../testing/liveState';
import { CellRecord, Cluster } from '../tokens';
import { KernelRecords } from '../locations/kernelRecords';
import { announceCells, announceLimit, announceProblems } from './notices';
import { Preferences } from '../preferences/preferences';
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

it('tells once that the head of a cluster was killed, and of no other end', () => {
  const told = vi.spyOn(Notification, 'error').mockReturnValue('');
  const model = makeLiveState();
  const preferences = new Preferences();
  announceProblems(model, preferences, trans, () => false);
  const end = (by: string): string[] => {
    model.receive(makeFrame([makeCluster({ created_at: 100 })]));
    const values = { by, at: 146 };
    const ended = {
      [makeCluster().id]: { code: 'stopping', values, text: '' }
    };
    model.receive(makeFrame([], { ended }));
    model.changed.emit();
    return told.mock.calls.splice(0).map(([text]) => text);
  };
  expect(end('killed')).toEqual([
    'local-2: Ended unexpectedly. It ran for 46\u00a0s. Its head process is gone. Variables are lost.'
  ]);
  expect(end('killed')).toHaveLength(1); // another one
  expect(end('server')).toEqual([]);
  preferences.set({ notifyTrouble: false });
  expect(end('killed')).toEqual([]);
});

it('forgets what was told of a cluster that is gone', () => {
  const told = vi.spyOn(Notification, 'error').mockReturnValue('');
  const warned = vi.spyOn(Notification, 'warning').mockReturnValue('');
  const model = makeLiveState();
  announceProblems(model, new Preferences(), trans, () => false);
  announceLimit(model, trans);
  const now = Date.now() / 1000;
  const near = { ...stuck('a'), limit_at: now + 100, ends_at: now + 100 };
  for (const clusters of [[near], [near], [], [near]]) {
    model.receive(makeFrame(clusters));
    model.changed.emit();
  }
  expect(told).toHaveBeenCalledTimes(2);
  expect(warned).toHaveBeenCalledTimes(2);
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

it('tells no end of a diagnosis, a trial, or a look at where a cell failed: they are no cells', async () => {
  const told = vi.spyOn(Notification, 'success').mockReturnValue('');
  const model = makeLiveState();
  const preferences = new Preferences();
  preferences.set({ notifyCellsAfter: 0 });
  const actions = new ClusterRequests(
    ServerConnection.makeSettings(),
    trans,
    () => undefined
  );
  const cells = vi.spyOn(actions, 'cells');
  const records = new KernelRecords();
  const parts = { model, preferences, actions, records, trans };
  announceCells(parts, () => false);
  for (const kind of [
    'post_mortem',
    'diagnosis',
    'advice_trial',
    'cell'
  ] as const) {
    const run = {
      cell: '[7]',
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
    'local-2 [7] has ended after 1\u00a0min 15\u00a0s.'
  ]);
});

it("tells the end of one's own interrupt without an alarm", async () => {
  const alarm = vi.spyOn(Notification, 'error').mockReturnValue('');
  const calm = vi.spyOn(Notification, 'info').mockReturnValue('');
  const model = makeLiveState();
  const preferences = new Preferences();
  preferences.set({ notifyCellsAfter: 0 });
  const actions = new ClusterRequests(
    ServerConnection.makeSettings(),
    trans,
    () => undefined
  );
  const calls =
    'Rank 1 called all_reduce and rank 2 called barrier where rank 0 called broadcast.';
  const sentence = `${calls} Ranks 0–2 were interrupted in all_reduce, barrier and broadcast; variables are kept.`;
  const record = (interrupted: boolean): CellRecord =>
    ({
      started_at: 1,
      cell: '[3]',
      kind: 'cell',
      notebook: '/x/train.ipynb',
      result: { sentence, interrupted }
    }) as unknown as CellRecord;
  const cells = vi.spyOn(actions, 'cells');
  const records = new KernelRecords();
  const parts = { model, preferences, actions, records, trans };
  announceCells(parts, () => false);
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
  // whole sentences, since JupyterLab cuts a long text; the cell has all
  expect(calm.mock.calls[0][0]).toBe(`train.ipynb [3]: ${calls}`);
  await end(false);
  expect([alarm.mock.calls.length, calm.mock.calls.length]).toEqual([1, 1]);
});

it('forgets the cells of a cluster that is gone', async () => {
  const model = makeLiveState();
  const preferences = new Preferences();
  preferences.set({ notifyCellsAfter: 0 });
  const actions = new ClusterRequests(
    ServerConnection.makeSettings(),
    trans,
    () => undefined
  );
  const cells = vi.spyOn(actions, 'cells').mockResolvedValue([]);
  const records = new KernelRecords();
  announceCells({ model, preferences, actions, records, trans }, () => false);
  const runs = makeCluster({
    running: [
      {
        cell: '[3]',
        notebook: '/x',
        ranks: [0],
        started_at: 1,
        cell_id: null,
        detached: false,
        kind: 'cell'
      }
    ]
  });
  // one of its id that has stopped and is started again has none of the cells from before
  for (const clusters of [[runs], [], [makeCluster()]]) {
    model.receive(makeFrame(clusters));
  }
  expect(cells).not.toHaveBeenCalled();
});

it('asks who tells of a problem by the notebooks of its cells', () => {
  vi.spyOn(Notification, 'error').mockReturnValue('');
  const model = makeLiveState();
  const asked: (readonly string[])[] = [];
  const one = (notebooks: readonly string[]): void =>
    void asked.push(notebooks);
  announceProblems(model, new Preferences(), trans, () => false, one);
  const cell = { cell: '[3]', notebook: '/x', ranks: [0, 1], started_at: 1 };
  const running = [
    { ...cell, cell_id: null, detached: false, kind: 'cell' as const }
  ];
  model.receive(
    makeFrame([{ ...stuck('a'), running, notebooks: ['/x', '/y'] }])
  );
  model.receive(makeFrame([{ ...stuck('b', 1), id: 'c2', notebooks: ['/y'] }]));
  expect(asked).toEqual([['/x'], ['/y']]);
  expect(Notification.error).not.toHaveBeenCalled();
});
