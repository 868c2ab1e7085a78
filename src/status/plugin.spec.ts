import { JupyterFrontEnd } from '@jupyterlab/application';
import { ServerConnection } from '@jupyterlab/services';
import { IStatusBar } from '@jupyterlab/statusbar';
import { CommandRegistry } from '@lumino/commands';
import { expect, it, vi } from 'vitest';

import { Selection } from '../cluster/model/selection';
import { makeCluster } from '../testing/clusters';
import { makeLiveState } from '../testing/liveState';
import { statusPlugin } from './plugin';

// its notebooks need a browser's layout; the plugin connects to a signal of it, and reads no notebook here
vi.mock('@jupyterlab/notebook', () => ({
  INotebookTracker: {},
  NotebookActions: { executed: { connect: () => true } }
}));

it('looks for clusters where there is no status bar, as in Notebook 7', async () => {
  const answer = (): Promise<Response> =>
    Promise.resolve(new Response(JSON.stringify([makeCluster()])));
  const serverSettings = ServerConnection.makeSettings({ fetch: answer });
  const model = makeLiveState({ settings: serverSettings });
  const watch = vi.spyOn(model, 'setVisible').mockReturnValue(undefined);
  const app = {
    commands: new CommandRegistry(),
    serviceManager: { serverSettings },
    shell: { widgets: () => [] }
  } as unknown as JupyterFrontEnd;
  expect(statusPlugin.optional).toContain(IStatusBar);
  void statusPlugin.activate(
    app,
    model,
    new Selection(model),
    null,
    null,
    null
  );
  await vi.waitFor(() =>
    expect(watch).toHaveBeenCalledWith(true, 'dtrain-lab-status')
  );
});
