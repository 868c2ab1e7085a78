import { JupyterFrontEnd } from '@jupyterlab/application';
import { WidgetTracker } from '@jupyterlab/apputils';
import { ServerConnection } from '@jupyterlab/services';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import { afterEach, expect, it, vi } from 'vitest';

import { confirmLoss, showFailure } from '../cluster/dialogs/dialogs';
import { CommandIDs } from '../commands';
import { menuOfSweep } from '../job/list/sweeps';
import { moment } from '../job/model/texts';
import { IJobs, ILiveState, ISite, Job, Sweep } from '../tokens';
import { KernelRecords } from '../locations/kernelRecords';
import { addSweepCommands } from './commands';
import { SweepRequests } from './model/requests';
import type { SweepView } from './widgets';

vi.mock('../cluster/dialogs/dialogs', () => ({
  confirmLoss: vi.fn(async () => true),
  showFailure: vi.fn()
}));

afterEach(() => vi.restoreAllMocks());

it('deletes a sweep that has ended after saying what goes with it, and tells those who list it', async () => {
  const search = { id: '5eed', name: 'search', created_at: 60 };
  const listed = [search, { ...search, id: 'f00d', created_at: 600 }];
  const asked = vi
    .spyOn(ServerConnection, 'makeRequest')
    .mockImplementation(
      async (_, { method }) =>
        new Response(method === 'GET' ? JSON.stringify(listed) : '{}')
    );
  const serverSettings = { baseUrl: 'http://x/' };
  const commands = new CommandRegistry();
  const sweeps = new SweepRequests(
    serverSettings as ServerConnection.ISettings
  );
  const removed: string[] = [];
  sweeps.removed.connect((_, id) => removed.push(id));
  const close = vi.fn();
  addSweepCommands({
    app: {
      commands,
      shell: {},
      serviceManager: {
        serverSettings,
        contents: { fileChanged: new Signal({}) }
      }
    } as unknown as JupyterFrontEnd,
    model: {} as ILiveState,
    site: {} as ISite,
    jobs: {
      all: () => Promise.reject(new Error('The list is lost.')),
      lastAnswer: [] as readonly Job[]
    } as unknown as IJobs,
    records: new KernelRecords(),
    sweeps,
    notebooks: null,
    browser: null,
    languages: null,
    state: null,
    restorer: null,
    views: {
      find: (fits: (view: unknown) => boolean) =>
        [{ args: { id: '5eed' }, close }].find(fits)
    } as unknown as WidgetTracker<SweepView>,
    trans: nullTranslator.load('')
  });
  const args = { id: '5eed', name: 'search' };

  vi.mocked(confirmLoss).mockResolvedValueOnce(false);
  await commands.execute(CommandIDs.deleteSweep, args);
  const methods = asked.mock.calls.map(([, init]) => init.method);
  expect(methods).toEqual(['GET']);

  await commands.execute(CommandIDs.deleteSweep, args);
  const [title, text] = vi.mocked(confirmLoss).mock.lastCall!;
  // another one has its name
  expect(title).toBe(`Delete the sweep search, ${moment(60)}?`);
  expect(text).toMatch(/jobs of its trials .* checkpoints, .* best trial/);
  const [url, init] = asked.mock.lastCall!;
  expect([init.method, url]).toEqual([
    'DELETE',
    'http://x/dtrain-lab/sweeps/5eed'
  ]);
  expect(removed).toEqual(['5eed']);
  expect(close).toHaveBeenCalledOnce();

  // refused; the jobs that keep its checkpoints can't be listed either
  const message = 'The folders of these jobs contain checkpoints of reg (b).';
  const body = { code: 'checkpoints_used', message, details: { jobs: ['b'] } };
  asked.mockImplementation(async (_, { method }) =>
    method === 'GET'
      ? new Response(JSON.stringify(listed))
      : new Response(JSON.stringify(body), { status: 409 })
  );
  await commands.execute(CommandIDs.deleteSweep, args);
  expect(vi.mocked(showFailure).mock.lastCall?.[0]).toMatchObject({ message });
});

it('offers to delete a sweep only where its user may', () => {
  const menu = (may: string[]): string[] =>
    menuOfSweep({ id: '5eed', name: 'search', may } as unknown as Sweep).map(
      item => item.command
    );
  expect(menu(['resume', 'delete'])).toContain(CommandIDs.deleteSweep);
  expect(menu(['stop'])).not.toContain(CommandIDs.deleteSweep);
});
