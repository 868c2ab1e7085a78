// alone: it opens a dialog
import { Notification } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { ServerConnection } from '@jupyterlab/services';
import { CommandRegistry } from '@lumino/commands';
import { expect, it, vi } from 'vitest';

import { CommandIDs } from '../../commands';
import { request } from '../../request/rest';
import { confirmLoss, showFailure } from '../dialogs/dialogs';
import { Profile, ProfileCheck } from '../../tokens';
import { ServerSite } from '../model/site';
import { addProfileCommands } from './commands';
import { errorText } from './editProfile';

vi.mock('../../request/rest', async original => ({
  ...(await original<object>()),
  request: vi.fn(async () => Promise.reject(new Error('refused')))
}));
vi.mock('../dialogs/dialogs', async original => ({
  ...(await original<object>()),
  showFailure: vi.fn(),
  confirmLoss: vi.fn()
}));

it("says in a dialog why a profile can't run, whole, and leaves no notification", async () => {
  const commands = new CommandRegistry();
  const trans = nullTranslator.load('x');
  const settings = ServerConnection.makeSettings();
  const site = new ServerSite(settings);
  addProfileCommands(commands, site, settings, trans);
  await commands.execute(CommandIDs.checkProfile, { name: 'work' });
  expect(showFailure).toHaveBeenCalledWith(new Error('refused'), trans, 'work');
  expect(Notification.manager.count).toBe(0);
});

it('has each error of a profile on a line of its own', () => {
  const also = [{ message: 'line 4: no.', fix: 'Write it as 2.' }];
  const error = { message: 'line 2: -1.', hint: 'It must be 1 or more.' };
  expect(errorText({ ...error, details: { also } })).toBe(
    'line 2: -1. It must be 1 or more.\nline 4: no. Write it as 2.'
  );
  expect(errorText({ ...error, details: {} })).not.toContain('\n');
});

const report: ProfileCheck = {
  name: 'work',
  backend: 'ssh',
  framework: 'torch',
  nodes: ['gpu-01', 'gpu-02'].map(node => ({
    node,
    cpus: 16,
    gpus: 2,
    memory_gib: 125.8,
    python: '3.12.3',
    torch: '2.13.0',
    tensorflow: null,
    mindspore: null,
    dtrain_lab: '0.1.0',
    driver: '570.86',
    shm_gib: 62.9,
    files: 1024,
    processes: 4096,
    interfaces: 'ib0 10.0.0.1, eth0 192.168.0.7'
  })),
  ranks: 4,
  collectives: 'nccl',
  network: {
    first: 'gpu-01',
    second: 'gpu-02',
    interface: 'ib0',
    speed: { round_trip_s: 0.00004, bytes_per_s: 2e9 }
  },
  warnings: [],
  findings: ['gpu-01', 'gpu-02'].map(node => ({
    code: 'little_shm',
    values: { node, free_mib: 60 },
    text: ''
  })),
  ask: {
    nodes: 2,
    ranks_per_node: 2,
    cpus_per_rank: 8,
    memory_gib_per_rank: 62.9
  },
  capacity: '',
  room: []
};

it('has a new notification for the result, and all of a long one in a dialog', async () => {
  vi.mocked(request).mockResolvedValueOnce(report as never);
  const commands = new CommandRegistry();
  const settings = ServerConnection.makeSettings();
  const site = new ServerSite(settings);
  addProfileCommands(commands, site, settings, nullTranslator.load('x'));
  const types: string[] = [];
  Notification.manager.changed.connect((_, { type }) => void types.push(type));
  await commands.execute(CommandIDs.checkProfile, { name: 'work' });
  // JupyterLab drops an update of a notification that it has not drawn yet
  expect(types).toEqual(['added', 'removed', 'added']);
  const [shown, ...more] = Notification.manager.notifications;
  expect(more).toEqual([]);
  expect(shown.message).toBe('work can run, with 2 warnings.');
  expect(shown.type).toBe('warning');
  const [details] = shown.options.actions ?? [];
  expect(details.label).toBe('Details');
  details.callback(new MouseEvent('click'));
  await vi.waitFor(() =>
    expect(document.querySelector('.jp-DtrainCluster-check td')).not.toBeNull()
  );
  const text = document.querySelector('.jp-Dialog')?.textContent ?? '';
  for (const part of [
    'work can run.',
    'gpu-02 has 60 MiB free in /dev/shm',
    'From gpu-02 to gpu-01 (ib0, TCP)',
    '125.8 GiB',
    '570.86',
    'eth0 192.168.0.7'
  ]) {
    expect(text).toContain(part);
  }
  document
    .querySelector<HTMLElement>('.jp-Dialog button.jp-mod-accept')
    ?.click();
  await vi.waitFor(() =>
    expect(document.querySelector('.jp-Dialog')).toBeNull()
  );
  Notification.dismiss();
});

it('deletes a profile once that is confirmed, but not a built-in one, and says why not', async () => {
  const commands = new CommandRegistry();
  const trans = nullTranslator.load('x');
  const settings = ServerConnection.makeSettings();
  const site = new ServerSite(settings);
  const [local, mine] = [
    { name: 'local', file: null },
    { name: 'mine', file: '/p/mine.toml' }
  ] as unknown as Profile[];
  addProfileCommands(commands, site, settings, trans);
  const command = CommandIDs.deleteProfile;
  const caption = (name?: string): string =>
    commands.caption(command, name ? { name } : {});
  site.setProfiles([local]);
  expect(commands.isEnabled(command)).toBe(false);
  expect(caption()).toContain('only the built-in profile');
  site.setProfiles([local, mine]);
  expect(commands.isEnabled(command)).toBe(true);
  expect(commands.isEnabled(command, { name: 'local' })).toBe(false);
  expect(caption('local')).toBe("local is built in: it can't be deleted.");
  vi.mocked(request)
    .mockReset()
    .mockResolvedValue([local] as never);
  vi.mocked(confirmLoss).mockResolvedValueOnce(false);
  await commands.execute(command, { name: 'mine' });
  expect(request).not.toHaveBeenCalled();
  vi.mocked(confirmLoss).mockResolvedValueOnce(true);
  await commands.execute(command, { name: 'mine' });
  expect(request).toHaveBeenCalledWith(
    settings,
    'DELETE',
    '/profiles/{identity}',
    { id: 'mine' }
  );
  expect(site.profiles).toEqual([local]);
  Notification.dismiss();
});
