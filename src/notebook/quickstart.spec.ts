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

/** Opens the quickstart where the file browser is; `there`: folder → what is in it. */
async function open(
  folder: string,
  there: Readonly<Record<string, readonly string[]>>
): Promise<IOpened> {
  const saved: string[] = [];
  const contents = {
    get: async (path: string) => ({
      content: there[path].map(name => ({ name }))
    }),
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

it('puts all it copies into a folder of its own, and over no file', async () => {
  expect(await open('', { '': ['quickstart.ipynb', 'docs'] })).toEqual({
    saved: [
      'dtrain-lab-examples',
      'dtrain-lab-examples/quickstart.ipynb',
      'dtrain-lab-examples/output.ipynb',
      'dtrain-lab-examples/docs',
      'dtrain-lab-examples/docs/guide.md',
      'dtrain-lab-examples/docs/sweeps.md'
    ],
    opened: ['dtrain-lab-examples/quickstart.ipynb'],
    told: [
      'The quickstart and the notebooks that follow it are in the new folder dtrain-lab-examples.'
    ]
  });
});

it('adds what is missing there, also from within it', async () => {
  const work = 'work/dtrain-lab-examples';
  const there = { work: ['dtrain-lab-examples'], [work]: ['quickstart.ipynb'] };
  const found = await open('work', there);
  expect(found.saved).toEqual([
    `${work}/output.ipynb`,
    `${work}/docs`,
    `${work}/docs/guide.md`,
    `${work}/docs/sweeps.md`
  ]);
  expect(found.told).toEqual([
    `Examples that were missing were copied to ${work}. The other files there are unchanged.`
  ]);
  expect(await open(work, there)).toEqual(found);
  const all = ['quickstart.ipynb', 'output.ipynb', 'docs'];
  expect(await open(work, { [work]: all })).toEqual({
    saved: [],
    opened: [`${work}/quickstart.ipynb`],
    told: []
  });
});
