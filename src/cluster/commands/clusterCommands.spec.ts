import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { expect, it, vi } from 'vitest';

import { CommandIDs } from '../../commands';
import {
  makeCluster,
  makeFrame,
  makeRank,
  makeVerdict
} from '../../testing/clusters';
import { makeLiveState } from '../../testing/liveState';
import { Cluster, IClusterActions, ISite } from '../../tokens';
import { addClusterCommands } from './clusterCommands';
import { AdviceState } from '../model/adviceState';
import { Selection } from '../model/selection';

it('shows how long a cluster ran that was stopped from its menu beside another', async () => {
  const model = makeLiveState();
  const selection = new Selection(model);
  const commands = new CommandRegistry();
  const hear = (...clusters: Cluster[]): void =>
    model.receive(makeFrame(clusters));
  const one = makeCluster({ id: 'a', name: 'a' });
  const two = makeCluster({ id: 'b', name: 'b', notebooks: ['x.ipynb'] });
  const actions = { stop: async () => hear(two) } as unknown as IClusterActions;
  addClusterCommands({
    commands,
    model,
    site: {} as ISite,
    selection,
    adviceState: new AdviceState(),
    actions,
    trans: nullTranslator.load('dtrain_lab')
  });
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

it('says before a cluster is stopped that a cell runs on it', async () => {
  const model = makeLiveState();
  const selection = new Selection(model);
  const commands = new CommandRegistry();
  const stop = vi.fn().mockResolvedValue(undefined);
  addClusterCommands({
    commands,
    model,
    site: {} as ISite,
    selection,
    adviceState: new AdviceState(),
    actions: { stop } as unknown as IClusterActions,
    trans: nullTranslator.load('dtrain_lab')
  });
  const running = [
    {
      notebook: 'x.ipynb',
      cell: 'c',
      cell_id: null,
      detached: false,
      kind: 'cell' as const,
      started_at: 1,
      ranks: [0, 1]
    }
  ];
  model.receive(makeFrame([makeCluster({ id: 'a', name: 'a', running })]));
  const done = commands.execute(CommandIDs.stopCluster, { id: 'a' });
  const dialog = (): Element => document.querySelector('.jp-Dialog')!;
  await vi.waitFor(() =>
    expect(dialog().textContent).toContain(
      'The cell that runs on it ends, too.'
    )
  );
  dialog().querySelector<HTMLElement>('.jp-mod-accept, .jp-mod-warn')!.click();
  await done;
  expect(stop).toHaveBeenCalledWith('a');
});

it('goes on without lost ranks only where a rank is lost, and tells menus when that changes', () => {
  const model = makeLiveState();
  const selection = new Selection(model);
  const commands = new CommandRegistry();
  addClusterCommands({
    commands,
    model,
    site: {} as ISite,
    selection,
    adviceState: new AdviceState(),
    actions: {} as IClusterActions,
    trans: nullTranslator.load('dtrain_lab')
  });
  const changed = vi.fn();
  commands.commandChanged.connect((_, { id }) => changed(id));
  const hear = (state: 'idle' | 'lost'): void =>
    model.receive(
      makeFrame([
        makeCluster({
          state: state === 'lost' ? 'degraded' : 'ready',
          ranks: [makeRank(0), makeRank(1, { state })],
          lost: (state === 'lost' ? [{ rank: 1 }] : []) as Cluster['lost']
        })
      ])
    );
  hear('idle');
  selection.select('c1');
  expect(commands.isEnabled(CommandIDs.leaveOutRanks)).toBe(false);
  expect(commands.isEnabled(CommandIDs.restartRanks)).toBe(true);
  changed.mockClear();
  hear('lost');
  expect(changed).toHaveBeenCalledWith(CommandIDs.leaveOutRanks);
  expect(commands.isEnabled(CommandIDs.leaveOutRanks)).toBe(true);
});

it('goes to the cluster that is shown as needing attention: a slow one if none is in trouble', async () => {
  const model = makeLiveState();
  const selection = new Selection(model);
  const commands = new CommandRegistry();
  commands.addCommand(CommandIDs.showPanel, { execute: () => undefined });
  addClusterCommands({
    commands,
    model,
    site: {} as ISite,
    selection,
    adviceState: new AdviceState(),
    actions: {} as IClusterActions,
    trans: nullTranslator.load('dtrain_lab')
  });
  const slow = makeCluster({ id: 'b', name: 'b' });
  slow.metrics.verdicts = [makeVerdict({ kind: 'slow' })];
  const lost = makeCluster({ id: 'c', name: 'c', state: 'degraded' });
  model.receive(makeFrame([makeCluster({ id: 'a', name: 'a' }), slow]));
  selection.select('a');
  await commands.execute(CommandIDs.goToProblem);
  expect(selection.cluster?.id).toBe('b');
  model.receive(makeFrame([slow, lost]));
  await commands.execute(CommandIDs.goToProblem);
  expect(selection.cluster?.id).toBe('c');
});
