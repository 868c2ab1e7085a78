// alone: attaches the whole panel to the document
import { JupyterFrontEnd } from '@jupyterlab/application';
import { ServerConnection } from '@jupyterlab/services';
import { DisposableDelegate } from '@lumino/disposable';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { AdviceState } from '../cluster/model/adviceState';
import { Selection } from '../cluster/model/selection';
import { ServerSite } from '../cluster/model/site';
import { CommandIDs, showPanel } from '../commands';
import { KernelRecords } from '../locations/kernelRecords';
import { makeCommands } from '../testing/commands';
import { makeLiveState } from '../testing/liveState';
import { panelPlugin } from './plugin';

let panel: Widget;
const activated = vi.fn();
const commands = (): JupyterFrontEnd['commands'] => app.commands;
let app: JupyterFrontEnd;

beforeEach(() => {
  activated.mockClear();
  app = {
    commands: makeCommands(undefined, id => id !== CommandIDs.showPanel),
    shell: {
      add: (widget: Widget) => {
        panel = widget;
        Widget.attach(panel, document.body);
      },
      activateById: activated,
      currentWidget: { id: 'notebook' }
    }
  } as unknown as JupyterFrontEnd;
  const model = makeLiveState();
  model.watch = () => new DisposableDelegate(() => undefined);
  void panelPlugin.activate(
    app,
    model,
    new ServerSite(ServerConnection.makeSettings()),
    new Selection(model),
    new AdviceState(),
    new KernelRecords(),
    null,
    null,
    null,
    null
  );
  MessageLoop.flush();
});

afterEach(() => panel.dispose());

it('leads to the panel, and chosen again in there back to the document', async () => {
  await commands().execute(CommandIDs.showPanel);
  expect(activated.mock.lastCall).toEqual([panel.id]);
  panel.node.focus();
  await commands().execute(CommandIDs.showPanel);
  expect(activated.mock.lastCall).toEqual(['notebook']);
  // other commands show the panel from within
  await showPanel(commands());
  expect(activated.mock.lastCall).toEqual([panel.id]);
});

it('leads back to the document with Escape', () => {
  panel.node.focus();
  const press = (prevented: boolean): void => {
    const event = new KeyboardEvent('keydown', {
      key: 'Escape',
      cancelable: true
    });
    if (prevented) {
      event.preventDefault();
    }
    panel.node.dispatchEvent(event);
  };
  press(true); // something in the panel has used it
  expect(activated).not.toHaveBeenCalled();
  press(false);
  expect(activated.mock.calls).toEqual([['notebook']]);
});
