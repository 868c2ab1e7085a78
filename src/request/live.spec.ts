// alone: fake timers
import { ServerConnection } from '@jupyterlab/services';
import { afterEach, expect, it, vi } from 'vitest';

import { Link } from '../tokens';
import { backOff, Live } from './live';

class FakeSocket {
  static all: FakeSocket[] = [];
  onopen: () => void = () => undefined;
  onclose: (event: { code: number; reason?: string }) => void = () => undefined;
  onmessage: (event: { data: string }) => void = () => undefined;
  closed = false;

  constructor(readonly url: string) {
    FakeSocket.all.push(this);
  }

  close(): void {
    this.closed = true;
  }
}

function connect(more: Partial<ServerConnection.ISettings> = {}): Live {
  FakeSocket.all = [];
  return new Live(
    ServerConnection.makeSettings({
      ...more,
      wsUrl: 'ws://127.0.0.1/',
      token: 'a b',
      appendToken: true,
      WebSocket: FakeSocket as unknown as typeof WebSocket
    })
  );
}

afterEach(() => {
  vi.useRealTimers();
});

it('backs off to 15 s, give or take a fifth', () => {
  expect(backOff(0, 0.5)).toBe(500);
  expect(backOff(3, 0.5)).toBe(4000);
  expect(backOff(30, 1)).toBeCloseTo(18000);
});

it('connects again after the link was lost, and not once disposed', () => {
  vi.useFakeTimers();
  const live = connect();
  const links: Link[] = [];
  live.link.connect((_, link) => links.push(link));
  expect(FakeSocket.all[0].url).toContain('token=a%20b');
  FakeSocket.all[0].onopen();
  FakeSocket.all[0].onclose({ code: 1006 });
  expect(live.retryAt).not.toBeNull();
  vi.advanceTimersByTime(1000);
  expect(FakeSocket.all).toHaveLength(2);
  expect(links).toEqual(['open', 'lost']);
  live.dispose();
  expect(FakeSocket.all[1].closed).toBe(true);
  FakeSocket.all[1].onclose({ code: 1006 });
  vi.advanceTimersByTime(60_000);
  expect(FakeSocket.all).toHaveLength(2);
});

it('takes a silent server for gone, and no frame twice', async () => {
  vi.useFakeTimers();
  const live = connect();
  const links: Link[] = [];
  const seqs: number[] = [];
  live.link.connect((_, link) => links.push(link));
  live.frame.connect((_, frame) => seqs.push(frame.seq));
  const [socket] = FakeSocket.all;
  const send = (seq: number) =>
    socket.onmessage({
      data: JSON.stringify({ type: 'clusters', seq, clusters: [], jobs: [] })
    });
  socket.onopen();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(links).toEqual(['open']);
  send(0);
  for (let beat = 0; beat < 10; beat++) {
    await vi.advanceTimersByTimeAsync(5000);
    send(1);
  }
  expect(seqs).toEqual([0, 1]);
  expect(links).toEqual(['open']);
  await vi.advanceTimersByTimeAsync(17_000);
  expect(links).toEqual(['open', 'lost']);
  expect(socket.closed).toBe(true);
  socket.onclose({ code: 1006 });
  send(2);
  expect(links).toEqual(['open', 'lost']);
  expect(seqs).toEqual([0, 1]);
  expect(FakeSocket.all).toHaveLength(2);
  live.dispose();
});

it('takes a server for gone that opens the socket and says nothing, and tries again', async () => {
  vi.useFakeTimers();
  const live = connect();
  const links: Link[] = [];
  live.link.connect((_, link) => {
    links.push(link);
    expect(live.retryAt === null).toBe(link === 'open');
  });
  FakeSocket.all[0].onopen();
  await vi.advanceTimersByTimeAsync(40_000);
  expect(links).toEqual(['open', 'lost']);
  expect(FakeSocket.all[0].closed).toBe(true);
  expect(FakeSocket.all).toHaveLength(2);
  FakeSocket.all[1].onopen();
  await vi.advanceTimersByTimeAsync(40_000);
  expect(links).toEqual(['open', 'lost', 'open', 'lost']);
  live.dispose();
});

it('tells a server that was stopped from one that is only not heard', () => {
  vi.useFakeTimers();
  const live = connect();
  FakeSocket.all[0].onopen();
  FakeSocket.all[0].onclose({ code: 1006 });
  expect(live.stopped).toBe(null);
  live.reconnect();
  FakeSocket.all[1].onopen();
  FakeSocket.all[1].onclose({ code: 1001, reason: 'stopped with clusters' });
  expect(live.stopped).toBe('with clusters');
  // it does not answer yet
  live.reconnect();
  FakeSocket.all[2].onclose({ code: 1006 });
  expect(live.stopped).toBe('with clusters');
  const answer = (number: number): void => {
    live.reconnect();
    FakeSocket.all[number].onopen();
    // its clusters have not come back only because it answers again
    expect(live.stopped).not.toBe(null);
    FakeSocket.all[number].onmessage({
      data: JSON.stringify({ type: 'clusters', seq: 0, clusters: [], jobs: [] })
    });
    expect(live.stopped).toBe(null);
  };
  answer(3);
  FakeSocket.all[3].onclose({ code: 1001, reason: 'stopped alone' });
  expect(live.stopped).toBe('alone');
  answer(4);
  FakeSocket.all[4].onclose({ code: 1001, reason: 'of a proxy' });
  expect(live.stopped).toBe(null);
  live.dispose();
});

it('asks the server at once when the browser has lost the network, and tries when it is back', async () => {
  let network = true;
  const fetch = vi.fn(() =>
    network
      ? Promise.resolve(new Response('{}'))
      : Promise.reject(new TypeError('Failed to fetch'))
  );
  const live = connect({ fetch });
  const links: Link[] = [];
  live.link.connect((_, link) => links.push(link));
  const [socket] = FakeSocket.all;
  socket.onopen();
  window.dispatchEvent(new Event('offline'));
  await vi.waitFor(() => expect(fetch).toHaveBeenCalledTimes(1));
  await Promise.resolve();
  expect(links).toEqual(['open']); // a server on this machine needs no network
  network = false;
  window.dispatchEvent(new Event('offline'));
  await vi.waitFor(() => expect(links).toEqual(['open', 'lost']));
  expect(socket.closed).toBe(true);
  window.dispatchEvent(new Event('online'));
  expect(FakeSocket.all).toHaveLength(2);
  live.dispose();
  window.dispatchEvent(new Event('online'));
  expect(FakeSocket.all).toHaveLength(2);
});

it('tries at once when asked', () => {
  vi.useFakeTimers();
  const live = connect();
  FakeSocket.all[0].onclose({ code: 1006 });
  live.reconnect();
  expect(FakeSocket.all).toHaveLength(2);
  live.dispose();
});
