import { JupyterFrontEnd } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { IDebugger } from '@jupyterlab/debugger';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ServerConnection } from '@jupyterlab/services';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { CommandIDs } from '../commands';
import { makeCluster } from '../testing/clusters';
import { IClusters } from '../tokens';
import { openDialog } from '../ui/dialog';
import { addDebugJob } from './debugJob';
import { DebugModel } from './model/model';

vi.mock('../ui/dialog', () => ({ openDialog: vi.fn() }));

it('says that breakpoints stop a job once its ranks are debugged, and not before', async () => {
  const commands = new CommandRegistry();
  commands.addCommand('docmanager:open', { execute: () => panel });
  const done = (content: object): object => ({
    done: Promise.resolve({ content })
  });
  const kernel = {
    requestExecute: () => done({ status: 'ok' }),
    requestDebug: () => done({ body: { isStarted: true } })
  };
  const panel = {
    context: { ready: Promise.resolve() },
    sessionContext: { ready: Promise.resolve(), session: { kernel } }
  };
  const changed = new Signal<object, void>({});
  const model = { view: null as object | null, changed };
  const opened: string[] = [];
  const told = vi.spyOn(Notification, 'info').mockReturnValue('');
  const job = { id: 'j', name: 'night', notebook: 'a.ipynb', ended_at: null };
  addDebugJob({
    app: {
      commands,
      serviceManager: { serverSettings: ServerConnection.makeSettings() },
      shell: { activateById: (id: string) => opened.push(id) }
    } as unknown as JupyterFrontEnd,
    clusters: { jobs: [job] } as unknown as IClusters,
    tracker: {} as INotebookTracker,
    debug: {} as IDebugger,
    model: model as unknown as DebugModel,
    queue: { idle: async () => {} },
    trans: nullTranslator.load('x'),
    onError: error => expect(error).toBeUndefined()
  });
  const command = commands.execute(CommandIDs.debugJob, { id: 'j' });
  await vi.waitFor(() => expect(opened).toHaveLength(1));
  await new Promise(then => window.setTimeout(then));
  expect(told).not.toHaveBeenCalled();
  model.view = { on: true, ranks: [] };
  changed.emit();
  await command;
  expect(told.mock.calls.map(([text]) => text)).toEqual([
    'Breakpoints of this notebook stop night now; Pause stops it where it is.'
  ]);
  told.mockRestore();
});

it("offers a failed job the cluster on which its notebook's cells run", async () => {
  const commands = new CommandRegistry();
  const attached = vi.fn();
  const session = { path: 'a.ipynb', kernel: { id: 'k' } };
  const panel = {
    context: { ready: Promise.resolve(), path: 'a.ipynb' },
    sessionContext: { ready: Promise.resolve(), session }
  };
  commands.addCommand('docmanager:open', { execute: () => panel });
  commands.addCommand(CommandIDs.attachNotebook, { execute: attached });
  const told = vi.spyOn(Notification, 'info').mockReturnValue('');
  const world = { ...makeCluster().world, size: 4 };
  const job = { id: 'j', name: 'night', notebook: 'a.ipynb', ended_at: 5 };
  const one = makeCluster({ id: 'c', name: 'local-2', notebooks: [] });
  vi.mocked(openDialog).mockImplementation(async ({ buttons, body }) => {
    expect(body).toContain('run on local-2');
    const button = buttons!.find(each => each.label === 'Use local-2')!;
    return { button, isChecked: null, value: null };
  });
  addDebugJob({
    app: {
      commands,
      serviceManager: { serverSettings: ServerConnection.makeSettings() },
      shell: { activateById: () => undefined }
    } as unknown as JupyterFrontEnd,
    clusters: {
      jobs: [{ ...job, error: null, world }],
      clusters: [one]
    } as unknown as IClusters,
    tracker: {} as INotebookTracker,
    debug: {} as IDebugger,
    model: { view: { on: true } } as unknown as DebugModel,
    queue: { idle: async () => {} },
    trans: nullTranslator.load('x'),
    onError: error => expect(error).toBeUndefined()
  });
  await commands.execute(CommandIDs.debugJob, { id: 'j' });
  expect(attached).toHaveBeenCalledWith({ id: 'c' });
  told.mockRestore();
});
