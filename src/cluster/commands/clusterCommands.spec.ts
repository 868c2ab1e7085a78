import { nullTranslator } from '@jupyterlab/translation';
import { ServerConnection } from '@jupyterlab/services';
import { CommandRegistry } from '@lumino/commands';
import { expect, it } from 'vitest';

import { CommandIDs } from '../../commands';
import { makeCluster, makeFrame } from '../../testing/clusters';
import { Cluster, IClusterActions } from '../../tokens';
import { addClusterCommands } from './clusterCommands';
import { ClustersModel } from '../model/model';
import { Selection } from '../model/selection';

it('shows how long a cluster ran that was stopped from its menu beside another', async () => {
  const model = new ClustersModel(ServerConnection.makeSettings());
  const selection = new Selection(model);
  const commands = new CommandRegistry();
  const hear = (...clusters: Cluster[]): void =>
    model.receive(makeFrame(clusters));
  const one = makeCluster({ id: 'a', name: 'a' });
  const two = makeCluster({ id: 'b', name: 'b', notebooks: ['x.ipynb'] });
  const actions = { stop: async () => hear(two) } as unknown as IClusterActions;
  addClusterCommands(
    commands,
    model,
    selection,
    actions,
    nullTranslator.load('dtrain_lab')
  );
  selection.setNotebook({ path: 'x.ipynb', kernel: 'python3', lacks: false });
  hear(one, two);
  expect(selection.cluster?.id).toBe('b');
  // menus act on the current notebook's cluster, whatever the panel shows, and name it
  selection.select('a');
  expect([selection.cluster?.id, selection.current?.id]).toEqual(['a', 'b']);
  expect(commands.label(CommandIDs.diagnose)).toBe('Diagnose (b)');
  expect(commands.label(CommandIDs.diagnose, { id: 'a' })).toBe('Diagnose');
  await commands.execute(CommandIDs.stopCluster, { id: 'a', ask: false });
  expect([selection.cluster?.id, selection.cluster?.state]).toEqual([
    'a',
    'stopped'
  ]);
});
