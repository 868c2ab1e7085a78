import { expect, it } from 'vitest';

import { HeldCells } from './heldCells';

/** A queue of clicks, each of which ends when the test says so. */
function made() {
  const ends: (() => void)[] = [];
  let last = Promise.resolve();
  const queue = {
    busy: false,
    async idle(): Promise<void> {
      while (queue.busy) {
        await last;
      }
    }
  };
  const click = (): void => {
    queue.busy = true;
    last = new Promise<void>(resolve => ends.push(resolve)).then(() => {
      queue.busy = false;
    });
  };
  const told: string[] = [];
  const pending = new HeldCells<object>(queue);
  const kernel = {};
  const run = (): void =>
    pending.begins(kernel, is => told.push(is ? 'to come' : 'sent'));
  const settle = (): Promise<void> => new Promise(end => setTimeout(end));
  return { queue, ends, click, told, run, settle };
}

it('has a cell wait until the clicks before it have reached the kernel', async () => {
  const { queue, ends, click, told, run, settle } = made();
  run();
  expect(told, 'nothing was clicked').toEqual([]);
  click();
  // held while the kernel is asked about the first click
  void queue.idle().then(click);
  run();
  run();
  expect(told, 'before the cell is on its way').toEqual(['to come']);
  ends[0]();
  await settle();
  expect(told, 'the second click is on its way').toEqual(['to come']);
  ends[1]();
  await settle();
  expect(told).toEqual(['to come', 'sent']);
  click();
  run();
  expect(told).toEqual(['to come', 'sent', 'to come']);
});
