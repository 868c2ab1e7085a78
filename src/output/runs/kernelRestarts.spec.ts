import { CodeCell } from '@jupyterlab/cells';
import { Signal } from '@lumino/signaling';
import { expect, it } from 'vitest';

import { record } from '../../testing/record';
import { Cluster } from '../../tokens';
import { KernelRestarts } from './kernelRestarts';
import { IRun, runOf } from './storedRun';

it('remembers which runs a restart of the kernel has cut off', async () => {
  const stored: { run: IRun } = { run: runOf(record({ state: 'running' })) };
  const cell = Object.create(CodeCell.prototype) as CodeCell;
  const model = { getMetadata: () => stored.run };
  Object.defineProperty(cell, 'model', { value: model });
  const statusChanged = new Signal<object, string>({});
  const cluster = { id: 'c' } as Cluster;
  const restarts = new KernelRestarts({
    content: { widgets: [cell] },
    sessionContext: { statusChanged }
  } as unknown as ConstructorParameters<typeof KernelRestarts>[0]);
  const run = (id: string): IRun =>
    restarts.runOf(cell, { record: record({ id }), cluster });

  statusChanged.emit('busy');
  expect(run('x.1').restarted).toBeUndefined();
  // a kernel that dies interrupts nothing
  queueMicrotask(() => statusChanged.emit('autorestarting'));
  statusChanged.emit('restarting');
  await Promise.resolve();
  await Promise.resolve();
  expect(run('x.1').restarted).toBeUndefined();
  statusChanged.emit('restarting');
  await Promise.resolve();
  expect(run('x.1').restarted).toBe(true);
  expect(run('x.2').restarted).toBeUndefined();
  // nothing interrupts a cell that was started with --no-wait
  const detached = record({ id: 'x.1', detached: true });
  expect(
    restarts.runOf(cell, { record: detached, cluster }).restarted
  ).toBeUndefined();

  // until it has ended, its cluster is noted
  expect(run('x.1').cluster).toBeUndefined();
  const running = record({ state: 'running', ended_at: null });
  expect(restarts.runOf(cell, { record: running, cluster }).cluster).toBe('c');

  // as another page has stored it
  stored.run = { ...runOf(record({ id: 'x.3' })), restarted: true };
  expect(run('x.3').restarted).toBe(true);
});
