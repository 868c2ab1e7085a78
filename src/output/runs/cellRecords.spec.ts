import { ServerConnection } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { makeCluster } from '../../testing/clusters';
import { record } from '../../testing/record';
import { CellRecord, ILiveState } from '../../tokens';
import { CellRecords } from './cellRecords';
import { IRun, runOf } from './storedRun';

it('reads once more what somebody asks for while an answer is on its way', async () => {
  const answers: ((records: CellRecord[]) => void)[] = [];
  const settings = ServerConnection.makeSettings({
    baseUrl: 'http://localhost/',
    fetch: () =>
      new Promise(resolve =>
        answers.push(records =>
          resolve(new Response(JSON.stringify(records), { status: 200 }))
        )
      )
  });
  const model = { clusters: [makeCluster()] } as unknown as ILiveState;
  Object.assign(model, {
    changed: new Signal(model),
    link: 'open',
    endings: {}
  });
  const records = new CellRecords(model, settings);
  await vi.waitFor(() => expect(answers).toHaveLength(1));
  expect(records.isRead).toBe(false);

  // the cell has started and ended since the first request
  records.refresh();
  answers[0]([]);
  await vi.waitFor(() => expect(answers).toHaveLength(2));
  expect(records.byRequest('m1')).toBeNull();
  answers[1]([record()]);
  await vi.waitFor(() => expect(records.byRequest('m1')).not.toBeNull());
  expect(records.isRead).toBe(true);
  expect(records.knows(record().id)).toBe(true);

  // a restart between two frames: the cluster is ready in both
  const { world } = makeCluster();
  const clusters = [makeCluster({ world: { ...world, generation: 9 } })];
  Object.assign(model, { clusters });
  (model.changed as Signal<ILiveState, void>).emit();
  await vi.waitFor(() => expect(answers).toHaveLength(3));

  // how a cluster has ended that this page has not seen
  const run = { ...runOf(record()), cluster: 'gone' };
  expect(records.endingOf(run)).toBeNull();
  const gone = { code: 'stopping', values: { by: 'killed' }, text: '' };
  Object.assign(model, { endings: { gone } });
  (model.changed as Signal<ILiveState, void>).emit();
  expect(records.endingOf(run)).toBe(gone);
  expect(records.endingOf(runOf(record()))).toBeNull();
  expect(records.leftRecord(run)).toBeNull(); // a head that was killed leaves nothing
  expect(records.endedWithCluster(run, 'x')).toBe(true);
  gone.values = { by: 'killed', running: ['y'] } as never;
  expect(records.endedWithCluster(run, 'x')).toBe(false);
  answers[2]([]);
  await vi.waitFor(() => expect(answers).toHaveLength(4));
  Object.assign(model, { link: 'lost' });
  expect(records.isRead).toBe(false);
  records.dispose();
});

it('reads once what the head of a cluster that has ended has left, and knows which runs it has cut', async () => {
  const asked: string[] = [];
  const cells: Record<string, CellRecord[] | null> = {
    left: [record()],
    gone: null,
    [makeCluster().id]: [record({ id: 'x.9', state: 'running' })]
  };
  const settings = ServerConnection.makeSettings({
    baseUrl: 'http://localhost/',
    fetch: request => {
      const id = String((request as Request).url)
        .split('/')
        .at(-2)!;
      asked.push(id);
      const body = cells[id] ?? { code: 'not_found', message: '', hint: '' };
      const status = cells[id] ? 200 : 404;
      return Promise.resolve(new Response(JSON.stringify(body), { status }));
    }
  });
  const ending = { code: 'stopping', values: { by: 'terminal' }, text: '' };
  const { id } = makeCluster();
  const model = {
    clusters: [makeCluster()],
    link: 'open',
    endings: { left: ending, gone: ending, [id]: ending }
  } as unknown as ILiveState;
  Object.assign(model, { changed: new Signal(model) });
  const records = new CellRecords(model, settings);
  const run = (cluster: string, run = record().id): IRun => ({
    ...runOf(record()),
    cluster,
    run
  });
  await vi.waitFor(() => expect(records.isRead).toBe(true));
  expect(records.leftRecord(run('other'))).toBeNull();
  expect(records.leftRecord(run(id))).toBeUndefined(); // its head is still there
  expect(asked).toEqual([id]);

  expect(records.leftRecord(run('left'))).toBeUndefined();
  expect(records.leftRecord(run('left', 'x.8'))).toBeUndefined();
  await vi.waitFor(() =>
    expect(records.leftRecord(run('left'))?.id).toBe(record().id)
  );
  expect(records.leftRecord(run('left', 'x.8'))).toBeNull();
  records.leftRecord(run('gone'));
  await vi.waitFor(() => expect(records.leftRecord(run('gone'))).toBeNull());
  expect(asked).toEqual([id, 'left', 'gone']);

  expect(records.endedWithCluster(run(id, 'x.9'), 'x')).toBe(false);
  Object.assign(model, { clusters: [] });
  (model.changed as Signal<ILiveState, void>).emit();
  await vi.waitFor(() =>
    expect(records.endedWithCluster(run(id, 'x.9'), 'x')).toBe(true)
  );
  expect(records.endedWithCluster(run(id), 'x')).toBe(false);
  records.dispose();
});

it('hears once how clusters have ended while nobody watches any', async () => {
  const settings = ServerConnection.makeSettings({
    baseUrl: 'http://localhost/',
    fetch: () => Promise.reject(new Error('nobody is asked'))
  });
  const model = {
    clusters: [],
    link: 'connecting',
    lastFrameAt: null as Date | null,
    endings: {}
  } as unknown as ILiveState;
  const dispose = vi.fn();
  const watch = vi.fn(() => ({ dispose, isDisposed: false }));
  Object.assign(model, { changed: new Signal(model), watch });
  const records = new CellRecords(model, settings);
  const run = { ...runOf(record()), cluster: 'gone' };
  records.hearEnding(runOf(record()));
  expect(watch).not.toHaveBeenCalled();
  records.hearEnding(run);
  records.hearEnding(run);
  expect(watch).toHaveBeenCalledOnce();
  expect(dispose).not.toHaveBeenCalled();
  Object.assign(model, { link: 'open', lastFrameAt: new Date() });
  (model.changed as Signal<ILiveState, void>).emit();
  await vi.waitFor(() => expect(dispose).toHaveBeenCalledOnce());
  records.hearEnding(run);
  expect(watch).toHaveBeenCalledOnce();
  records.dispose();
});

it('asks again what a cluster has left once the link is back', async () => {
  let isThere = false;
  let asked = 0;
  const settings = ServerConnection.makeSettings({
    baseUrl: 'http://localhost/',
    fetch: () => {
      asked += 1;
      return isThere
        ? Promise.resolve(new Response(JSON.stringify([record()])))
        : Promise.reject(new TypeError('no server'));
    }
  });
  const ending = { code: 'stopping', values: { by: 'terminal' }, text: '' };
  const model = {
    clusters: [],
    link: 'open',
    endings: { left: ending }
  } as unknown as ILiveState;
  Object.assign(model, { changed: new Signal(model) });
  const records = new CellRecords(model, settings);
  const run = { ...runOf(record()), cluster: 'left' };
  records.changed.connect(() => void records.leftRecord(run));
  expect(records.leftRecord(run)).toBeUndefined();
  await vi.waitFor(() => expect(asked).toBeGreaterThan(0));
  for (const link of ['lost', 'open']) {
    isThere = link === 'open';
    Object.assign(model, { link });
    (model.changed as Signal<ILiveState, void>).emit();
  }
  await vi.waitFor(() => expect(records.leftRecord(run)?.id).toBe('x.1'));
  records.dispose();
});
