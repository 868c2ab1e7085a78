import { Contents, ServerConnection } from '@jupyterlab/services';
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

it('writes what the quickstart leads to beside it, and over no file', async () => {
  const saved: string[] = [];
  const contents = {
    get: async () => ({ content: [{ name: 'quickstart.ipynb' }] }),
    save: async (path: string) => void saved.push(path)
  } as unknown as Contents.IManager;
  const commands = new CommandRegistry();
  const opened: unknown[] = [];
  commands.addCommand('docmanager:open', {
    execute: args => void opened.push(args.path)
  });
  await openQuickstart(
    'work',
    contents,
    ServerConnection.makeSettings(),
    commands
  );
  expect(saved).toEqual([
    'work/output.ipynb',
    'work/docs',
    'work/docs/guide.md',
    'work/docs/sweeps.md'
  ]);
  expect(opened).toEqual(['work/quickstart.ipynb']);
});
