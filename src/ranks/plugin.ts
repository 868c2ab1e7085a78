import {
  ILayoutRestorer,
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette, WidgetTracker } from '@jupyterlab/apputils';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { ReadonlyJSONObject } from '@lumino/coreutils';

import { CommandIDs } from '../commands';
import {
  IAdviceState,
  IClusterActions,
  IKernelRecords,
  ILiveState,
  ISelection,
  ISite
} from '../tokens';
import { ranksIcon } from '../ui/icons/viewIcons';
import { addView, showView } from '../ui/mainArea';
import { readEnding } from './model/ending';
import type { RanksView } from './view';

/** The Ranks view in the main area. */
export const ranksPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:ranks',
  description: 'The Ranks view: charts, heat map, grid and table.',
  autoStart: true,
  requires: [
    ILiveState,
    ISite,
    ISelection,
    IAdviceState,
    IClusterActions,
    IKernelRecords
  ],
  optional: [ICommandPalette, ILayoutRestorer, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: ILiveState,
    site: ISite,
    selection: ISelection,
    adviceState: IAdviceState,
    actions: IClusterActions,
    records: IKernelRecords,
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
      icon: args => (args.toolbar ? ranksIcon : undefined),
      isEnabled: args => !!args.id || !!selection.current,
      execute: async args => {
        const id = (args.id as string | undefined) ?? selection.current?.id;
        const cluster = model.clusters.find(c => c.id === id);
        const name = cluster?.name ?? (args.name as string | undefined);
        if (!id || !name) {
          return;
        }
        const { RanksView } = await import('./view');
        // after the import: two calls that wait for it open one view
        let view = tracker.find(v => v.args.id === id);
        if (!view) {
          view = new RanksView({
            id,
            name,
            ended: readEnding(args.ended),
            model,
            site,
            selection,
            adviceState,
            records,
            commands,
            trans
          });
          const added = view;
          void tracker.add(added);
          added.argsChanged.connect(() => void tracker.save(added));
          addView(shell, view);
        }
        showView(shell, view);
        const ranks = args.ranks as number[] | undefined;
        if (ranks?.length) {
          selection.selectRank(ranks[0]);
        }
      },
      describedBy: {
        args: {
          type: 'object',
          properties: {
            id: { type: 'string', description: 'Id of the cluster' },
            name: { type: 'string', description: 'Name of the cluster' },
            ranks: {
              type: 'array',
              items: { type: 'number' },
              description: 'Numbers of ranks; the first one is selected'
            },
            ended: {
              type: 'object',
              description:
                'How the cluster has ended; kept by a restored layout'
            }
          }
        }
      }
    });
    commands.addCommand(CommandIDs.exportHistory, {
      label: args =>
        trans.__('Export as %1', FORMATS[String(args.format)] ?? 'CSV'),
      caption: trans.__('The history of all ranks, as a file'),
      isEnabled: args => !!args.id || !!selection.cluster,
      execute: args => {
        const id = (args.id as string | undefined) ?? selection.cluster?.id;
        const format = String(args.format ?? 'csv');
        if (id && format in FORMATS) {
          save(actions.exportUrl(id, format as 'csv' | 'json' | 'tensorboard'));
        }
      },
      describedBy: {
        args: {
          type: 'object',
          properties: {
            id: { type: 'string', description: 'Id of the cluster' },
            format: {
              type: 'string',
              enum: Object.keys(FORMATS),
              description: 'Format of the file; CSV if missing'
            }
          }
        }
      }
    });
    let some = false;
    model.changed.connect(() => {
      if (some !== !!selection.cluster) {
        some = !!selection.cluster;
        commands.notifyCommandChanged(CommandIDs.showRanks);
      }
    });
    void restorer?.restore(tracker, {
      command: CommandIDs.showRanks,
      name: view => view.args.id,
      args: view => view.args as unknown as ReadonlyJSONObject
    });
    for (const command of [CommandIDs.showRanks, CommandIDs.exportHistory]) {
      palette?.addItem({ command, category: trans.__('Distributed') });
    }
  }
};

const FORMATS: Record<string, string> = {
  csv: 'CSV',
  json: 'JSON',
  tensorboard: 'TensorBoard'
};

/** Download a file. */
function save(url: string): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = '';
  link.click();
}
