import { Notification } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { ServerConnection } from '@jupyterlab/services';
import { CommandRegistry } from '@lumino/commands';
import { expect, it, vi } from 'vitest';

import { CommandIDs } from '../../commands';
import { ISite } from '../../tokens';
import { showFailure } from '../dialogs/dialogs';
import { addProfileCommands } from './commands';

vi.mock('../../request/rest', async original => ({
  ...(await original<object>()),
  request: async () => Promise.reject(new Error('refused'))
}));
vi.mock('../dialogs/dialogs', async original => ({
  ...(await original<object>()),
  showFailure: vi.fn()
}));

it("says in a dialog why a profile can't run, whole, and leaves no notification", async () => {
  const commands = new CommandRegistry();
  const site = { facts: null, profiles: [] } as unknown as ISite;
  const trans = nullTranslator.load('x');
  const settings = ServerConnection.makeSettings();
  addProfileCommands(commands, site, settings, trans);
  await commands.execute(CommandIDs.checkProfile, { name: 'work' });
  expect(showFailure).toHaveBeenCalledWith(new Error('refused'), trans, '');
  expect(Notification.manager.count).toBe(0);
});
