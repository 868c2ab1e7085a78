import { ServerConnection } from '@jupyterlab/services';
import { expect, it, vi } from 'vitest';

import { request } from '../../request/rest';
import { CellRecord } from '../../tokens';
import { IReading, readJournal } from './readJournal';

vi.mock('../../request/rest', async original => ({
  ...(await original<object>()),
  request: vi.fn()
}));
const mocked = vi.mocked(request);

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
  const asked: unknown[] = [];
  mocked.mockImplementation(async (...args: unknown[]) => {
    asked.push(args[3]);
    const piece = pieces.shift();
    if (!piece) {
      throw new Error('the network was away');
    }
    return piece as never;
  });
  const record = { id: 'x.1' } as unknown as CellRecord;
  const read = (): Promise<void> =>
    readJournal(
      known as unknown as IReading,
      record,
      'c',
      null as unknown as ServerConnection.ISettings
    );
  await expect(read()).rejects.toThrow('away');
  await read();
  expect(added).toEqual(Array.from({ length: 2001 }, (_, i) => i));
  expect(asked[2]).toMatchObject({ id: 'c', query: { after: 1999 } });
});
