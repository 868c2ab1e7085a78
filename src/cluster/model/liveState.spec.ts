// alone: what it leaves running of a connection has kept other specs from ending
import { ServerConnection } from '@jupyterlab/services';
import { afterEach, expect, it, vi } from 'vitest';

import { makeCluster, makeFrame } from '../../testing/clusters';
import { makeLiveState } from '../../testing/liveState';

class FakeSocket {
  static last: FakeSocket;
  onopen: () => void = () => undefined;
  onclose: (event: { code: number; reason?: string }) => void = () => undefined;
  onmessage: (event: { data: string }) => void = () => undefined;

  constructor() {
    FakeSocket.last = this;
  }

  close(): void {
    // nothing listens
  }
}

afterEach(() => {
  vi.restoreAllMocks();
});

it('says that clusters stopped with their server, unless the next one knows better', () => {
  const never = new Promise<Response>(() => undefined);
  vi.spyOn(ServerConnection, 'makeRequest').mockReturnValue(never);
  const settings = ServerConnection.makeSettings({
    WebSocket: FakeSocket as unknown as typeof WebSocket
  });
  const model = makeLiveState({ settings });
  const watching = model.watch();
  const [a, b, c] = ['a', 'b', 'c'].map(id => makeCluster({ id, name: id }));
  const restart = (reason: string): void => {
    FakeSocket.last.onopen();
    model.receive(makeFrame([a, b, c]));
    FakeSocket.last.onclose({ code: 1001, reason });
    model.reconnect();
    FakeSocket.last.onopen();
    const values = { by: 'terminal', at: 9 };
    const ended = { b: { code: 'stopping', values, text: '' } };
    model.receive(makeFrame([c], { ended }));
  };
  restart('stopped with clusters');
  expect(model.endings.a.values).toMatchObject({ by: 'shutdown' });
  expect(model.endings.a.values.at).toBeGreaterThan(9);
  expect(model.endings.b.values.by).toBe('terminal');
  model.receive(makeFrame([], { seq: 1 }));
  expect(model.endings).toEqual({}); // c has ended later
  restart('stopped alone');
  expect(Object.keys(model.endings)).toEqual(['b']);
  watching.dispose();
  model.dispose();
});
