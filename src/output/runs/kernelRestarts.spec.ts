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
  const panel = {
    content: { widgets: [cell] },
    sessionContext: { statusChanged }
  } as unknown as ConstructorParameters<typeof KernelRestarts>[0];
  const kept = new Map<string, string>();
  const store = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value)
  };
  const restarts = new KernelRestarts(panel, store);
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

  // a page that is reloaded before the notebook was saved says the same
  const earlier = stored.run;
  stored.run = { ...earlier, run: 'none' };
  const found = { record: record({ id: 'x.1' }), cluster };
  expect(new KernelRestarts(panel, store).runOf(cell, found).restarted).toBe(
    true
  );
  stored.run = earlier;

  // until it has ended, its cluster is noted
  expect(run('x.1').cluster).toBeUndefined();
  const running = record({ state: 'running', ended_at: null });
  expect(restarts.runOf(cell, { record: running, cluster }).cluster).toBe('c');

  // as another page has stored it
  stored.run = { ...runOf(record({ id: 'x.3' })), restarted: true };
  expect(run('x.3').restarted).toBe(true);
});
