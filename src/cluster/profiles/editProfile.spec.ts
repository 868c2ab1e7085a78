// alone: it opens dialogs, and mocks requests
import { Dialog, Notification } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { ServerConnection } from '@jupyterlab/services';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { request } from '../../request/rest';
import { Profile } from '../../tokens';
import { ServerSite } from '../model/site';
import { editProfile } from './editProfile';

vi.mock('../../request/rest', async original => ({
  ...(await original<object>()),
  request: vi.fn()
}));

const trans = nullTranslator.load('x');
const settings = ServerConnection.makeSettings();
const FILE = { text: 'nodes = 1\r\n', keys: 'backend = "ssh"\n' };
const answer = vi.mocked(request) as unknown as ReturnType<typeof vi.fn>;

beforeEach(() => {
  answer.mockReset().mockResolvedValue(FILE);
});

afterEach(() => {
  Dialog.flush();
  Notification.dismiss();
});

/** The dialog whose title this is. */
function dialog(title: string): Promise<HTMLElement> {
  return vi.waitFor(() => {
    const shown = [...document.querySelectorAll<HTMLElement>('.jp-Dialog')];
    const found = shown.find(
      d => d.querySelector('.jp-Dialog-header')?.textContent === title
    );
    expect(found).toBeDefined();
    return found!;
  });
}

function press(within: HTMLElement, label: string): void {
  const buttons = [...within.querySelectorAll('button')];
  const button = buttons.find(b => b.textContent === label);
  expect(button, label).toBeDefined();
  button!.click();
}

function field(within: HTMLElement): HTMLTextAreaElement {
  return within.querySelector('textarea')!;
}

function key(target: HTMLElement, name: string): KeyboardEvent {
  const event = new KeyboardEvent('keydown', {
    key: name,
    bubbles: true,
    cancelable: true
  });
  target.dispatchEvent(event);
  return event;
}

function begun(file: string | null = '/p/mine.toml') {
  const site = new ServerSite(settings);
  const listed = { name: 'mine', file, error: null } as unknown as Profile;
  site.setProfiles([listed]);
  let ended = false;
  const done = editProfile('mine', site, settings, trans).then(() => {
    ended = true;
  });
  return { done, site, hasEnded: () => ended };
}

it('asks before edited text is discarded, and keeps it where it was', async () => {
  const { done, hasEnded } = begun();
  const first = await dialog('Profile mine');
  field(first).value = 'nodes = 1\nranks_per_node = 3\n';
  field(first).setSelectionRange(4, 7);
  field(first).dispatchEvent(new Event('input'));
  key(field(first), 'Escape');
  const asked = await dialog('Discard your changes to the profile mine?');
  press(asked, 'Keep editing');
  const second = await dialog('Profile mine');
  expect(field(second).value).toBe('nodes = 1\nranks_per_node = 3\n');
  expect(field(second).selectionStart).toBe(4);
  press(second, 'Cancel');
  press(await dialog('Discard your changes to the profile mine?'), 'Discard');
  await done;
  expect(hasEnded()).toBe(true);
  expect(answer).toHaveBeenCalledTimes(1);
});

it('asks nothing where nothing was edited, also with line ends of Windows', async () => {
  const { done } = begun();
  press(await dialog('Profile mine'), 'Cancel');
  await done;
  expect(document.querySelector('.jp-Dialog')).toBeNull();
});

it('keeps the text where the server does not answer', async () => {
  const { done, site } = begun();
  const first = await dialog('Profile mine');
  field(first).value = 'nodes = 3\n';
  answer.mockRejectedValueOnce(new TypeError('Failed to fetch'));
  press(first, 'Save');
  const second = await vi.waitFor(async () => {
    const again = await dialog('Profile mine');
    expect(again.textContent).toContain('Failed to fetch');
    return again;
  });
  expect(field(second).value).toBe('nodes = 3\n');
  answer.mockResolvedValueOnce([]);
  press(second, 'Save');
  await done;
  expect(site.profiles).toEqual([]);
});

it('deletes the profile from its editor, if that is confirmed', async () => {
  const { done, site } = begun();
  press(await dialog('Profile mine'), 'Delete…');
  press(await dialog('Delete the profile mine?'), 'Cancel');
  press(await dialog('Profile mine'), 'Delete…');
  answer.mockResolvedValueOnce([]);
  press(await dialog('Delete the profile mine?'), 'Delete');
  await done;
  const path = '/profiles/{identity}';
  expect(answer).toHaveBeenLastCalledWith(settings, 'DELETE', path, {
    id: 'mine'
  });
  expect(site.profiles).toEqual([]);
});

it('has nothing to delete of a profile without a file, and shows all keys when asked', async () => {
  const { done } = begun(null);
  const shown = await dialog('Profile mine');
  const labels = [...shown.querySelectorAll('button')].map(b => b.textContent);
  expect(labels).not.toContain('Delete…');
  const keys = shown.querySelector('pre')!;
  expect(keys.hidden).toBe(true);
  press(shown, 'Show all keys, as in the user guide');
  expect(keys.hidden).toBe(false);
  expect(keys.textContent).toBe(FILE.keys);
  // Enter shows them, or is a new line: it does not save
  const enter = key(shown.querySelector('[aria-expanded]')!, 'Enter');
  expect(enter.defaultPrevented).toBe(false);
  expect(key(field(shown), 'Enter').defaultPrevented).toBe(false);
  press(shown, 'Cancel');
  await done;
});
