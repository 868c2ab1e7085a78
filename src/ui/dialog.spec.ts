import { Dialog } from '@jupyterlab/apputils';
import { afterEach, expect, it, vi } from 'vitest';

import { openDialog } from './dialog';

afterEach(() => {
  Dialog.flush();
});

it('is called by its title, described by its text, and stays open at a double click', async () => {
  const done = openDialog({
    title: 'Delete the job a?',
    body: 'Its folder is removed.',
    buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: 'Delete' })]
  });
  const dialog = await vi.waitFor(() => {
    const found = document.querySelector<HTMLElement>('.jp-Dialog');
    expect(found?.textContent).toContain('Delete the job a?');
    return found!;
  });
  const textOf = (attribute: string): string | null | undefined =>
    document.getElementById(dialog.getAttribute(attribute)!)?.textContent;
  expect(textOf('aria-labelledby')).toBe('Delete the job a?');
  expect(textOf('aria-describedby')).toBe('Its folder is removed.');
  expect(dialog.hasAttribute('aria-label')).toBe(false);
  for (const type of ['mousedown', 'click']) {
    dialog.dispatchEvent(new MouseEvent(type, { detail: 2, bubbles: true }));
  }
  expect(dialog.isConnected).toBe(true);
  dialog.dispatchEvent(new MouseEvent('click', { detail: 1, bubbles: true }));
  expect((await done).button.accept).toBe(false);
});
