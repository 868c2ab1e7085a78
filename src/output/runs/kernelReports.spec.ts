import { KernelMessage } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import { expect, it } from 'vitest';

import { ExecutedRequests, Stops } from './kernelReports';

it('learns who has stopped the cluster of a cell from an update that no notebook keeps', () => {
  const messages = new Signal<object, KernelMessage.IMessage>({});
  const stops = new Stops(messages);
  const stop = { by: 'server', at: 1767240720 };
  const says = (msg_type: string, metadata: object): void =>
    messages.emit({
      header: { msg_type },
      parent_header: { msg_id: 'm1' },
      content: { data: {}, metadata, transient: {} }
    } as unknown as KernelMessage.IMessage);
  says('update_display_data', { dtrain: { rank: 0 } });
  says('display_data', { dtrain: { stop } });
  expect(stops.of('m1')).toBeUndefined();
  says('update_display_data', { dtrain: { stop } });
  expect(stops.of('m1')).toEqual(stop);
  expect([stops.of('m2'), stops.of(undefined)]).toEqual([undefined, undefined]);
});

it('keeps the latest reports only', () => {
  const messages = new Signal<object, KernelMessage.IMessage>({});
  const stops = new Stops(messages);
  for (let i = 0; i <= 100; i++) {
    messages.emit({
      header: { msg_type: 'update_display_data' },
      parent_header: { msg_id: `m${i}` },
      content: { data: {}, metadata: { dtrain: { stop: { at: i } } } }
    } as unknown as KernelMessage.IMessage);
  }
  expect(stops.of('m0')).toBeUndefined();
  expect(stops.of('m1')).toEqual({ at: 1 });
  expect(stops.of('m100')).toEqual({ at: 100 });
});

it('knows which requests the kernel executes, and which are only queued', () => {
  const messages = new Signal<object, KernelMessage.IMessage>({});
  const begun: string[] = [];
  const requests = new ExecutedRequests(messages, id => begun.push(id));
  const says = (msg_type: string, msg_id: string): void =>
    messages.emit({
      header: { msg_type },
      parent_header: { msg_id }
    } as unknown as KernelMessage.IMessage);
  says('status', 'm1');
  expect(requests.has('m1')).toBe(false);
  says('execute_input', 'm1');
  expect([requests.has('m1'), requests.has('m2')]).toEqual([true, false]);
  expect(requests.has(null)).toBe(false);
  for (let i = 2; i <= 101; i++) {
    says('execute_input', `m${i}`);
  }
  expect([requests.has('m1'), requests.has('m101')]).toEqual([false, true]);
  expect(begun).toHaveLength(101);
  requests.dispose();
  says('execute_input', 'later');
  expect(requests.has('later')).toBe(false);
});
