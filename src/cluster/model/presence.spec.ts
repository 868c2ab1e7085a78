import { ServerConnection } from '@jupyterlab/services';
import { expect, it, vi } from 'vitest';

import { makeCluster, makeFrame } from '../../testing/clusters';
import { makeLiveState } from '../../testing/liveState';
import { Cluster } from '../../tokens';
import { LiveState } from './liveState';

class SilentSocket {
  close(): void {}
}

function make(
  clusters: readonly Cluster[] = [],
  sweeps: readonly unknown[] = []
): {
  model: LiveState;
  asked: () => number;
} {
  const fetch = vi.fn(
    async (asked: RequestInfo | URL) =>
      new Response(
        JSON.stringify(
          new Request(asked).url.includes('/sweeps?active=1')
            ? sweeps
            : clusters
        )
      )
  );
  const settings = ServerConnection.makeSettings({
    fetch,
    WebSocket: SilentSocket as unknown as typeof WebSocket
  });
  return {
    model: makeLiveState({ settings }),
    asked: () => fetch.mock.calls.length
  };
}

it('requests frames by itself while there is a cluster, whatever else is open', async () => {
  const { model } = make([makeCluster()]);
  model.start();
  expect(model.isKnown).toBe(false);
  await vi.waitFor(() => expect(model.isLive).toBe(true));
  expect(model.isKnown).toBe(true);
  model.receive(makeFrame([makeCluster()]));
  expect(model.isLive).toBe(true);
  model.receive(makeFrame([]));
  expect(model.isLive).toBe(false);
  model.add(makeCluster({ id: 'new' }));
  expect(model.isLive).toBe(true);
  model.dispose();
});

it('requests frames from the start of a sweep to its end, also between two trials', async () => {
  const { model } = make([], [{ id: 's', state: 'running' }]);
  model.start();
  await vi.waitFor(() => expect(model.isLive).toBe(true));
  model.receive(makeFrame([], { sweeps: { s: 'running' } }));
  expect(model.sweeps).toEqual({ s: 'running' });
  expect(model.isLive).toBe(true);
  model.receive(makeFrame([], { sweeps: { s: 'stopping' } }));
  expect(model.sweeps).toEqual({ s: 'stopping' });
  model.receive(makeFrame([]));
  expect(model.isLive).toBe(false);
  expect(model.sweeps).toEqual({});
  model.dispose();
});

it('requests none while there is nothing, and asks at once where something may have begun', async () => {
  const { model, asked } = make();
  model.start();
  await vi.waitFor(() => expect(model.isKnown).toBe(true));
  expect(model.isLive).toBe(false);
  const before = asked();
  model.look();
  await vi.waitFor(() => expect(asked()).toBeGreaterThan(before));
  model.dispose();
});

it('requests frames as long as one viewer is left, whoever else has ended', () => {
  const { model } = make();
  const one = model.watch();
  const other = model.watch();
  one.dispose();
  one.dispose();
  expect(model.isLive).toBe(true);
  other.dispose();
  expect(model.isLive).toBe(false);
});

it('knows whether there is anything also where a view watches and no frame comes', async () => {
  const { model } = make();
  const view = model.watch();
  model.start();
  expect(model.isLive).toBe(true);
  await vi.waitFor(() => expect(model.isKnown).toBe(true));
  view.dispose();
  model.dispose();
});
