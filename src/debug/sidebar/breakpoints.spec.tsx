import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { Breakpoints } from './breakpoints';
import { DebugModel } from '../model/model';

const asks = { path: 'p', line: 3, condition: '', hit: '', log: '' };

it('gives the focus back where a condition was asked for, also by Escape', async () => {
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  root.render(
    <Breakpoints
      model={{ send: async () => ({}) } as unknown as DebugModel}
      points={[{ path: 'p', line: 3, name: 'cell [2]:3', asks, own: null }]}
      show={() => undefined}
      trans={nullTranslator.load('x')}
    />
  );
  const button = (name: string): HTMLButtonElement =>
    [...host.querySelectorAll('button')].find(b =>
      b.textContent?.startsWith(name)
    )!;
  Element.prototype.scrollIntoView = () => undefined;
  const open = async (): Promise<void> => {
    await vi.waitFor(() => expect(button('Add a condition')).toBeDefined());
    button('Add a condition').focus();
    button('Add a condition').click();
    await vi.waitFor(() =>
      expect(document.activeElement?.tagName).toBe('INPUT')
    );
  };
  const isBack = (): Promise<void> =>
    vi.waitFor(() => {
      expect(host.querySelector('form')).toBeNull();
      expect(document.activeElement).toBe(button('Add a condition'));
    });
  await open();
  button('Cancel').focus();
  button('Cancel').click();
  await isBack();
  await open();
  document.activeElement!.dispatchEvent(
    new KeyboardEvent('keydown', { key: 'Escape', bubbles: true })
  );
  await isBack();
  await open();
  button('Save').focus();
  button('Save').click();
  await isBack();
  root.unmount();
  host.remove();
});
