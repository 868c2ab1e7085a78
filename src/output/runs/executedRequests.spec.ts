import { KernelMessage } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import { expect, it } from 'vitest';

import { ExecutedRequests } from './executedRequests';

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
