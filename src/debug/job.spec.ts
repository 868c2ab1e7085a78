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
import { IClusters } from '../tokens';
import { addDebugJob } from './job';
import { DebugModel } from './model/model';

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
    turns: { ended: async () => {} },
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
