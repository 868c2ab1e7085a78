import React, { act } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { useSending } from './check';

it('sends what is asked for during a check right after it, once, and not what is edited meanwhile', () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  const sent: string[] = [];
  let ask = (): void => undefined;
  let waits = false;
  function Form(props: { form: string; busy: boolean }): null {
    [waits, ask] = useSending(props.form, props.busy, () =>
      sent.push(props.form)
    );
    return null;
  }
  const root = createRoot(document.createElement('div'));
  const show = (form: string, busy: boolean): void =>
    act(() => root.render(<Form form={form} busy={busy} />));

  show('a', false);
  act(() => ask());
  expect(sent).toEqual(['a']);

  show('b', true);
  act(() => ask());
  act(() => ask());
  expect([waits, sent]).toEqual([true, ['a']]);
  show('b', false);
  expect([waits, sent]).toEqual([false, ['a', 'b']]);
  show('b', true);
  show('b', false);
  expect(sent).toEqual(['a', 'b']);

  show('b', true);
  act(() => ask());
  show('c', true);
  show('c', false);
  expect(sent).toEqual(['a', 'b']);
  act(() => root.unmount());
  vi.unstubAllGlobals();
});
