import { expect, it, vi } from 'vitest';

import { request } from '../../request/rest';
import { NotebookRuns } from './notebookRuns';

vi.mock('../../request/rest', async original => ({
  ...(await original<object>()),
  request: vi.fn()
}));
const mocked = vi.mocked(request);

it('asks for nothing more once it is disposed', () => {
  const ready = { then: vi.fn() };
  const runs = Object.assign(Object.create(NotebookRuns.prototype), {
    _isDisposed: true,
    _panel: { content: { widgets: [] }, context: { isReady: true, ready } }
  });
  void runs._sync();
  expect(ready.then).not.toHaveBeenCalled();
});

it('goes on after a piece that could not be read, and adds none twice', async () => {
  const added: number[] = [];
  const known = {
    journal: {
      add: (more: { seq: number }[]) => added.push(...more.map(o => o.seq))
    },
    after: -1
  };
  const pieces = [
    Array.from({ length: 2000 }, (_, seq) => ({ seq })),
    null,
    [{ seq: 2000 }]
  ];
  const asked: string[] = [];
  mocked.mockImplementation(async (...args: unknown[]) => {
    asked.push(String(args[2]));
    const piece = pieces.shift();
    if (!piece) {
      throw new Error('the network was away');
    }
    return piece;
  });
  const runs = Object.assign(Object.create(NotebookRuns.prototype), {
    _services: { serverSettings: null }
  });
  const read = (): Promise<void> => runs._read({ id: 'x.1' }, 'c', known);
  await expect(read()).rejects.toThrow('away');
  await read();
  expect(added).toEqual(Array.from({ length: 2001 }, (_, i) => i));
  expect(asked[2]).toContain('after=1999');
});
