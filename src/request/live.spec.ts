import { ServerConnection } from '@jupyterlab/services';
import { afterEach, expect, it, vi } from 'vitest';

import { Link } from '../tokens';
import { backOff, Live } from './live';

class FakeSocket {
  static all: FakeSocket[] = [];
  onopen: () => void = () => undefined;
  onclose: () => void = () => undefined;
  onmessage: (event: { data: string }) => void = () => undefined;
  closed = false;

  constructor(readonly url: string) {
    FakeSocket.all.push(this);
  }

  close(): void {
    this.closed = true;
  }
}

function connect(): Live {
  FakeSocket.all = [];
  return new Live(
    ServerConnection.makeSettings({
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
  FakeSocket.all[0].onclose();
  expect(live.retryAt).not.toBeNull();
  vi.advanceTimersByTime(1000);
  expect(FakeSocket.all).toHaveLength(2);
  expect(links).toEqual(['open', 'lost']);
  live.dispose();
  expect(FakeSocket.all[1].closed).toBe(true);
  FakeSocket.all[1].onclose();
  vi.advanceTimersByTime(60_000);
  expect(FakeSocket.all).toHaveLength(2);
});

it('tries at once when asked', () => {
  vi.useFakeTimers();
  const live = connect();
  FakeSocket.all[0].onclose();
  live.reconnect();
  expect(FakeSocket.all).toHaveLength(2);
  live.dispose();
});
