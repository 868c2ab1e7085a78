import { JupyterFrontEnd } from '@jupyterlab/application';
import { ICommandPalette, IPaletteItem } from '@jupyterlab/apputils';
import { ServerConnection } from '@jupyterlab/services';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { expect, it } from 'vitest';

import { CommandIDs } from '../../commands';
import { KernelRecords } from '../../locations/kernelRecords';
import { makeLiveState } from '../../testing/liveState';
import { AdviceState } from '../model/adviceState';
import { ClusterRequests } from '../model/requests';
import { Selection } from '../model/selection';
import { ServerSite } from '../model/site';
import { commandsPlugin } from './plugin';

it('asks first where its name in the palette ends with an ellipsis', () => {
  const serverSettings = ServerConnection.makeSettings();
  const commands = new CommandRegistry();
  const app = {
    commands,
    serviceManager: { serverSettings }
  } as unknown as JupyterFrontEnd;
  const model = makeLiveState();
  const items: IPaletteItem[] = [];
  const palette = {
    addItem: (item: IPaletteItem) => void items.push(item)
  } as unknown as ICommandPalette;
  void commandsPlugin.activate(
    app,
    model,
    new ServerSite(serverSettings),
    new Selection(model),
    new AdviceState(),
    new ClusterRequests(
      serverSettings,
      nullTranslator.load('x'),
      () => undefined
    ),
    new KernelRecords(),
    palette,
    null,
    null
  );
  const start = items.find(i => i.command === CommandIDs.startCluster)!;
  expect(commands.label(start.command, start.args)).toBe('Start Cluster…');
  expect(start.args).toEqual({ ask: true });
});
