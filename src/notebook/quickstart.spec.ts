import { Notification } from '@jupyterlab/apputils';
import { Contents, ServerConnection } from '@jupyterlab/services';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { expect, it, vi } from 'vitest';

import { openQuickstart } from './quickstart';

vi.mock('../request/rest', () => ({
  request: async () => ({
    'quickstart.ipynb': {},
    'output.ipynb': {},
    'docs/guide.md': 'words',
    'docs/sweeps.md': 'words'
  })
}));

interface IOpened {
  saved: string[];
  opened: unknown[];
  told: string[];
}

/** Opens the quickstart in a folder with these files in it. */
async function open(
  folder: string,
  there: readonly string[]
): Promise<IOpened> {
  const saved: string[] = [];
  const contents = {
    get: async () => ({ content: there.map(name => ({ name })) }),
    save: async (path: string) => void saved.push(path)
  } as unknown as Contents.IManager;
  const commands = new CommandRegistry();
  const opened: unknown[] = [];
  commands.addCommand('docmanager:open', {
    execute: args => void opened.push(args.path)
  });
  const told: string[] = [];
  const info = vi.spyOn(Notification, 'info').mockImplementation(text => {
    told.push(String(text));
    return '';
  });
  await openQuickstart(
    folder,
    contents,
    ServerConnection.makeSettings(),
    commands,
    nullTranslator.load('')
  );
  info.mockRestore();
  return { saved, opened, told };
}

it('writes what the quickstart leads to beside it, and over no file', async () => {
  const { saved, opened } = await open('work', ['quickstart.ipynb']);
  expect(saved).toEqual([
    'work/output.ipynb',
    'work/docs',
    'work/docs/guide.md',
    'work/docs/sweeps.md'
  ]);
  expect(opened).toEqual(['work/quickstart.ipynb']);
});

it('says what it has written where', async () => {
  expect((await open('work', [])).told).toEqual([
    'Copied to work: 2 notebooks and the folder docs. Files that were there are unchanged.'
  ]);
  expect((await open('', ['quickstart.ipynb', 'docs'])).told).toEqual([
    'Copied to the top folder: 1 notebook. Files that were there are unchanged.'
  ]);
  const all = await open('', ['quickstart.ipynb', 'output.ipynb', 'docs']);
  expect(all).toEqual({ saved: [], opened: ['quickstart.ipynb'], told: [] });
});
