import { ServerConnection } from '@jupyterlab/services';
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
import { Cluster, IClusterActions, Site, Tried } from '../../tokens';
import { KernelRecords } from '../../locations/kernelRecords';
import { addClusterCommands } from './clusterCommands';
import { AdviceState } from '../model/adviceState';
import { Selection } from '../model/selection';
import { ServerSite } from '../model/site';

class TestSite extends ServerSite {
  override get facts(): Site | null {
    return this.testFacts;
  }

  testFacts: Site | null = null;
}

function make(actions: Partial<IClusterActions> = {}) {
  const model = makeLiveState();
  const selection = new Selection(model);
  const commands = new CommandRegistry();
  const site = new TestSite(ServerConnection.makeSettings());
  const adviceState = new AdviceState();
  addClusterCommands({
    commands,
    model,
    site,
    selection,
    adviceState,
    actions: actions as IClusterActions,
    records: new KernelRecords(),
    trans: nullTranslator.load('dtrain_lab')
  });
  const hear = (...clusters: Cluster[]): void =>
    model.receive(makeFrame(clusters));
  return { commands, hear, model, selection, site, adviceState };
}

it('shows how long a cluster ran that was stopped from its menu beside another', async () => {
  const one = makeCluster({ id: 'a', name: 'a' });
  const two = makeCluster({ id: 'b', name: 'b', notebooks: ['x.ipynb'] });
  const { commands, hear, selection } = make({ stop: async () => hear(two) });
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
  const stop = vi.fn().mockResolvedValue(undefined);
  const { commands, hear } = make({ stop });
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
  hear(makeCluster({ id: 'a', name: 'a', running }));
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

it('goes on without lost ranks, and shows their output, only where a rank is lost, and tells menus when that changes', () => {
  const { commands, model, selection } = make();
  const changed = vi.fn();
  commands.commandChanged.connect((_, { id }) => changed(id));
  const hear = (state: 'idle' | 'lost'): void =>
    model.receive(
      makeFrame([
        makeCluster({
          state: state === 'lost' ? 'degraded' : 'ready',
          ranks: [makeRank(0), makeRank(1, { state })],
          lost: (state === 'lost' ? [{ rank: 1 }] : []) as Cluster['lost'],
          without_lost:
            state === 'lost'
              ? { size: 1, lost: [1], replaced: [], ending: [] }
              : null
        })
      ])
    );
  hear('idle');
  selection.select('c1');
  const ofLost = [CommandIDs.leaveOutRanks, CommandIDs.showLastOutput];
  for (const id of ofLost) {
    expect(commands.isEnabled(id)).toBe(false);
    expect(commands.caption(id)).toBe('No rank of local-2 is lost.');
  }
  expect(commands.isEnabled(CommandIDs.restartRanks)).toBe(true);
  changed.mockClear();
  hear('lost');
  for (const id of ofLost) {
    expect(changed).toHaveBeenCalledWith(id);
    expect(commands.isEnabled(id)).toBe(true);
  }
});

it('goes to the cluster that is shown as needing attention: a slow one if none is in trouble', async () => {
  const { commands, model, selection } = make();
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

it('lets those who may only watch start and change nothing, and says so', () => {
  const { commands, hear, site } = make();
  hear(makeCluster({ may: [] }));
  expect(commands.isEnabled(CommandIDs.startCluster)).toBe(true);
  const changed = vi.fn();
  commands.commandChanged.connect((_, { id }) => changed(id));
  site.testFacts = { may_write: false } as Site;
  site.changed.emit();
  for (const id of [CommandIDs.startCluster, CommandIDs.stopCluster]) {
    expect(changed).toHaveBeenCalledWith(id);
    expect(commands.isEnabled(id)).toBe(false);
    expect(commands.caption(id)).toContain('You can watch');
  }
  for (const id of [CommandIDs.diagnose, CommandIDs.tryAdvice]) {
    expect(commands.isEnabled(id)).toBe(false);
    expect(commands.caption(id)).toContain('You can watch');
  }
  expect(commands.isEnabled(CommandIDs.copyReport)).toBe(true);
});

it('says in all views that advice is being tried, until that has ended or failed', async () => {
  let fail = (_: Error): void => undefined;
  const tryAdvice = (): Promise<Tried> =>
    new Promise((_, reject) => (fail = reject));
  const { commands, hear, adviceState } = make({ tryAdvice });
  hear(makeCluster({ id: 'a', may: ['stacks'] }));
  const args = { id: 'a', advice: 'workers' };
  const trial = commands.execute(CommandIDs.tryAdvice, args);
  await vi.waitFor(() =>
    expect(adviceState.isTrying('a', 'workers')).toBe(true)
  );
  expect(adviceState.isTrying('b', 'workers')).toBe(false);
  fail(new Error('The DataLoader no longer exists.'));
  await vi.waitFor(() =>
    expect(adviceState.isTrying('a', 'workers')).toBe(false)
  );
  const closing = (): HTMLElement =>
    document.querySelector(
      '.jp-Dialog .jp-mod-accept, .jp-Dialog .jp-mod-warn'
    )!;
  await vi.waitFor(() => expect(closing()).toBeTruthy());
  closing().click();
  await trial;
});

it('says why a command is not possible, and describes its own arguments', () => {
  const { commands, hear } = make();
  expect(commands.caption(CommandIDs.interruptRanks)).toBe(
    'There is no cluster.'
  );
  hear(makeCluster({ may: ['stop'] }));
  expect(commands.caption(CommandIDs.interruptRanks)).toBe(
    'Not possible now. Ready. 2 ranks wait for a cell.'
  );
  hear(makeCluster({ may: ['interrupt'], state: 'rebuilding' }));
  expect(commands.caption(CommandIDs.interruptRanks)).toContain('variables');
});

it('stops a cluster that waits only once the one instead of it is accepted', async () => {
  const done: string[] = [];
  let refusal: Error | null = new Error('refused');
  const { commands, hear } = make({
    start: async () => {
      if (refusal) {
        throw refusal;
      }
      done.push('start');
      return makeCluster({ id: 'new' });
    },
    stop: async id => void done.push(`stop ${id}`)
  });
  const args = { ranks: 1, instead: 'a' };
  hear(makeCluster({ id: 'a', name: 'a', state: 'pending' }));
  const refused = commands.execute(CommandIDs.startCluster, args);
  await vi.waitFor(() => {
    document.querySelector<HTMLElement>('.jp-Dialog .jp-mod-accept')!.click();
  });
  await refused;
  expect(done).toEqual([]);
  refusal = null;
  await commands.execute(CommandIDs.startCluster, args);
  expect(done).toEqual(['start', 'stop a']);
  // the server removes one that has failed and whose name the new one gets
  hear(makeCluster({ id: 'a', name: 'a', state: 'failed' }));
  done.length = 0;
  await commands.execute(CommandIDs.startCluster, { ...args, name: 'a' });
  expect(done).toEqual(['start']);
  await commands.execute(CommandIDs.startCluster, args);
  expect(done).toEqual(['start', 'start', 'stop a']);
});
