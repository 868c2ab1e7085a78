import {
  ILayoutRestorer,
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette, WidgetTracker } from '@jupyterlab/apputils';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { CommandIDs } from '../commands';
import { IClusters } from '../tokens';
import type { RanksView } from './view';

/** The Ranks view in the main area. */
export const ranksPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:ranks',
  description: 'The Ranks view: charts, heat map, grid and table.',
  autoStart: true,
  requires: [IClusters],
  optional: [ICommandPalette, ILayoutRestorer, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: IClusters,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const { commands, shell } = app;
    const tracker = new WidgetTracker<RanksView>({ namespace: 'dtrain-ranks' });
    commands.addCommand(CommandIDs.showRanks, {
      label: trans.__('Ranks View'),
      caption: trans.__('Charts, heat map and table of all ranks'),
      isEnabled: args => !!args.id || !!model.selected,
      execute: async args => {
        const id = (args.id as string | undefined) ?? model.selected?.id;
        const found = model.clusters.find(c => c.id === id);
        const name = found?.name ?? (args.name as string | undefined);
        if (!id || !name) {
          return;
        }
        let view = tracker.find(v => v.args.id === id);
        if (!view) {
          const { RanksView } = await import('./view');
          view = new RanksView({ id, name, model, commands, trans });
          void tracker.add(view);
          shell.add(view, 'main');
        }
        shell.activateById(view.id);
        const ranks = args.ranks as number[] | undefined;
        if (ranks?.length) {
          model.selectRank(ranks[0]);
        }
      },
      describedBy: {
        args: {
          type: 'object',
          properties: {
            id: { type: 'string', description: 'Id of the cluster' },
            name: { type: 'string', description: 'Its name' },
            ranks: {
              type: 'array',
              items: { type: 'number' },
              description: 'Ranks, the first of which is selected'
            }
          }
        }
      }
    });
    let some = false;
    model.changed.connect(() => {
      if (some !== !!model.selected) {
        some = !!model.selected;
        commands.notifyCommandChanged(CommandIDs.showRanks);
      }
    });
    void restorer?.restore(tracker, {
      command: CommandIDs.showRanks,
      name: view => view.args.id,
      args: view => view.args
    });
    palette?.addItem({
      command: CommandIDs.showRanks,
      category: trans.__('Distributed')
    });
  }
};
