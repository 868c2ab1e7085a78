import { ServerConnection } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { makeCluster } from '../../testing/clusters';
import { record } from '../../testing/record';
import { CellRecord, ILiveState } from '../../tokens';
import { CellRecords } from './cellRecords';
import { runOf } from './storedRun';

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
  answers[2]([]);
  await vi.waitFor(() => expect(answers).toHaveLength(4));
  Object.assign(model, { link: 'lost' });
  expect(records.isRead).toBe(false);
  records.dispose();
});
