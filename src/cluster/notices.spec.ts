import { Notification } from '@jupyterlab/apputils';
import { ServerConnection } from '@jupyterlab/services';
import { nullTranslator } from '@jupyterlab/translation';
import { afterEach, expect, it, vi } from 'vitest';

import { makeCluster } from '../testing/clusters';
import { ClustersModel } from './model';
import { announceLimit } from './notices';

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

it("tells that the scheduler's limit is near, twice for each limit", () => {
  vi.useFakeTimers({ now: 0 });
  const told = vi.spyOn(Notification, 'warning').mockReturnValue('');
  const model = new ClustersModel(ServerConnection.makeSettings());
  announceLimit(model, nullTranslator.load('x'));
  let limit: number | null = 3600;
  const at = (seconds: number): string[] => {
    vi.setSystemTime(seconds * 1000);
    const clusters = [makeCluster({ limit_at: limit, ends_at: limit })];
    model.receive({ type: 'clusters', seq: seconds, clusters });
    return told.mock.calls.splice(0).map(([text]) => text);
  };
  expect(at(100)).toEqual([]);
  expect(at(3010)).toEqual([
    'local-2: its allocation ends in 9 min 50 s. Save what you need.'
  ]);
  expect(at(3020)).toEqual([]);
  expect(at(3500)).toEqual([
    'local-2: its allocation ends in 1 min 40 s. Save what you need.'
  ]);
  expect(at(3550)).toEqual([]);
  limit = 7200; // it was raised
  expect(at(3590)).toEqual([]);
  expect(at(6700)).toHaveLength(1);
  limit = null;
  expect(at(6800)).toEqual([]);
});
