import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { expect, it, vi } from 'vitest';

import { submitIcon } from '../ui/icons/icons';
import { formCommand } from './formCommand';

it('opens one form for a double click, and another one for other arguments', async () => {
  const commands = new CommandRegistry();
  const ends: (() => void)[] = [];
  const open = vi.fn(() => new Promise<void>(resolve => ends.push(resolve)));
  commands.addCommand(
    'open',
    formCommand({
      label: 'Open',
      caption: 'Open a form',
      icon: submitIcon,
      properties: { like: { type: 'string' } },
      chosen: () => 'chosen.ipynb',
      browser: null,
      open,
      trans: nullTranslator.load('x')
    })
  );
  const path = 'a.ipynb';
  const all = [{ path }, { path, toolbar: true }, { path, like: 'j1' }, {}].map(
    args => commands.execute('open', args)
  );
  expect(open.mock.calls.map(args => args as unknown)).toEqual([
    [path, { path }],
    [path, { path, like: 'j1' }],
    ['chosen.ipynb', {}]
  ]);
  ends.forEach(end => end());
  await Promise.all(all);
  const again = commands.execute('open', { path });
  expect(open).toHaveBeenCalledTimes(4);
  ends.forEach(end => end());
  await again;
  // a button executes it also where it is disabled
  await commands.execute('open', { path: 'dtrain-jobs:3b62/a (a).ipynb' });
  expect(open).toHaveBeenCalledTimes(4);
});
