// alone: fake timers
import { ServerConnection } from '@jupyterlab/services';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { request, RequestError } from '../../request/rest';
import { Sweep } from '../../tokens';
import { SweepRequests } from './requests';

vi.mock('../../request/rest', async original => ({
  ...(await original<object>()),
  request: vi.fn()
}));

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const sweep = (state: Sweep['state'], id = 's'): Sweep =>
  ({ id, state }) as Sweep;
const answers = (found: unknown): void =>
  void vi.mocked(request).mockResolvedValue(found as never);

function made(): { sweeps: SweepRequests; seen: string[] } {
  const sweeps = new SweepRequests(ServerConnection.makeSettings());
  const seen: string[] = [];
  sweeps.seen.connect((_, now) => seen.push(...now.map(s => s.state)));
  return { sweeps, seen };
}

it('tells everybody each state that any view has read, and follows one that is stopped to its end', async () => {
  const { sweeps, seen } = made();
  answers([sweep('running'), sweep('stopping', 'of another page')]);
  await sweeps.all();
  expect(sweeps.stopping).toEqual([]);
  answers(sweep('stopping'));
  await sweeps.stop('s');
  expect(sweeps.stopping.map(s => s.id)).toEqual(['s']);
  await vi.advanceTimersByTimeAsync(3000);
  expect(sweeps.stopping).toHaveLength(1);
  answers(sweep('stopped'));
  await vi.advanceTimersByTimeAsync(3000);
  expect(sweeps.stopping).toEqual([]);
  expect([seen[0], seen[2], seen.at(-1)]).toEqual([
    'running',
    'stopping',
    'stopped'
  ]);
  const asked = vi.mocked(request).mock.calls.length;
  await vi.advanceTimersByTimeAsync(20_000);
  expect(request).toHaveBeenCalledTimes(asked);
});

it('forgets a sweep that was deleted while it was being stopped', async () => {
  const { sweeps } = made();
  answers(sweep('stopping'));
  await sweeps.stop('s');
  const body = { code: 'not_found', message: '', hint: '', details: {} };
  vi.mocked(request).mockRejectedValue(new RequestError(404, body));
  await vi.advanceTimersByTimeAsync(3000);
  expect(sweeps.stopping).toEqual([]);
});
