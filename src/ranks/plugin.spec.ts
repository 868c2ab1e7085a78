// alone: the view is replaced
import { JupyterFrontEnd } from '@jupyterlab/application';
import { CommandRegistry } from '@lumino/commands';
import { Widget } from '@lumino/widgets';
import { expect, it, vi } from 'vitest';

import { CommandIDs } from '../commands';
import { Selection } from '../cluster/model/selection';
import { makeLiveState } from '../testing/liveState';
import { ranksPlugin } from './plugin';

vi.mock('./view', async () => {
  const { Signal } = await import('@lumino/signaling');
  const { Widget } = await import('@lumino/widgets');
  class RanksView extends Widget {
    readonly argsChanged = new Signal<this, void>(this);

    constructor(readonly args: { id: string }) {
      super();
      this.id = `ranks-${args.id}`;
    }
  }
  return { RanksView };
});

it('opens one view, also for a restored tab and a click at the same time', async () => {
  const commands = new CommandRegistry();
  const added: Widget[] = [];
  const shell = {
    currentWidget: null,
    add: (widget: Widget) => added.push(widget),
    activateById: () => undefined
  };
  const app = { commands, shell } as unknown as JupyterFrontEnd;
  const model = makeLiveState();
  const others = [{}, {}, {}, {}];
  const [site, advice, actions, records] = others;
  await ranksPlugin.activate(
    app,
    model,
    site,
    new Selection(model),
    advice,
    actions,
    records,
    null,
    null,
    null
  );
  const args = { id: 'c1', name: 'train' };
  await Promise.all([
    commands.execute(CommandIDs.showRanks, args),
    commands.execute(CommandIDs.showRanks, args)
  ]);
  expect(added).toHaveLength(1);
});
