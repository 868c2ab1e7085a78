import React, { act } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { useSending } from './checkForm';

it('sends what is asked for during a check right after it, once, and not what is edited meanwhile', async () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  const sent: string[] = [];
  let ask = (): void => undefined;
  let waits = false;
  let over = Promise.resolve();
  function Form(props: { form: string; busy: boolean }): null {
    [waits, ask] = useSending(props.form, props.busy, async sends => {
      sends();
      sent.push(props.form);
      await over;
    });
    return null;
  }
  const root = createRoot(document.createElement('div'));
  const show = (form: string, busy: boolean): Promise<void> =>
    act(async () => root.render(<Form form={form} busy={busy} />));
  const asks = (): Promise<void> => act(async () => ask());

  let end = (): void => undefined;
  over = new Promise(resolve => (end = resolve));
  await show('a', false);
  await asks();
  await asks();
  expect([waits, sent]).toEqual([true, ['a']]);
  await act(async () => end());
  expect([waits, sent]).toEqual([false, ['a']]);

  await show('b', true);
  await asks();
  await asks();
  expect([waits, sent]).toEqual([true, ['a']]);
  await show('b', false);
  expect([waits, sent]).toEqual([false, ['a', 'b']]);
  await show('b', true);
  await show('b', false);
  expect(sent).toEqual(['a', 'b']);

  await show('b', true);
  await asks();
  await show('c', true);
  await show('c', false);
  expect(sent).toEqual(['a', 'b']);
  act(() => root.unmount());
  vi.unstubAllGlobals();
});
