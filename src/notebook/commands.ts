import { JupyterFrontEnd } from '@jupyterlab/application';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import {
  INotebookTracker,
  NotebookActions,
  NotebookPanel
} from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';

import { reportErrors } from '../cluster/dialogs/reportErrors';
import { attachedTo } from '../cluster/model/notebookCluster';
import { CommandIDs, isId } from '../commands';
import { LOAD_LINE, SNIPPET } from '../snippets';
import {
  IAdviceState,
  IKernelRecords,
  ILiveState,
  ISelection
} from '../tokens';
import { keepChange } from './applyChange';
import { ICell, showCell } from './cells';
import { attach } from './magics';
import { openQuickstart } from './quickstart';
import { tellBriefly } from '../ui/text/toast';

/** What the commands for notebooks use; null if the front end lacks it. */
export interface INotebookParts {
  app: JupyterFrontEnd;
  model: ILiveState;
  selection: ISelection;
  adviceState: IAdviceState;
  tracker: INotebookTracker;
  records: IKernelRecords;
  browser: IDefaultFileBrowser | null;
  trans: TranslationBundle;
}

/** Commands for notebooks and their cells. */
export function addNotebookCommands(parts: INotebookParts): void {
  addAttachCommand(parts);
  addSnippetCommand(parts);
  addKeepCommand(parts);
  addCellCommand(parts);
  addQuickstartCommand(parts);
}

/** The command that attaches the current notebook to a cluster. */
function addAttachCommand(parts: INotebookParts): void {
  const { app, model, selection, tracker, records, trans } = parts;
  app.commands.addCommand(CommandIDs.attachNotebook, {
    label: args =>
      (args.label as string | undefined) ?? trans.__('Attach to the Notebook'),
    caption: trans.__('Run the cells of the current notebook here'),
    isEnabled: () => !!tracker.currentWidget && model.clusters.length > 0,
    isToggleable: true,
    isToggled: args => {
      const panel = tracker.currentWidget;
      const own = panel
        ? attachedTo(
            model.clusters,
            records.kernelPath(panel),
            records.lastCluster(panel)
          )
        : null;
      return !!own && own.id === args.id;
    },
    execute: async args => {
      const cluster =
        model.clusters.find(c => c.id === args.id) ?? selection.cluster;
      const panel = tracker.currentWidget;
      if (!panel) {
        tellBriefly(trans.__('Open a notebook first.'), 'info');
      } else if (cluster) {
        await attach(panel, cluster.name, trans);
      }
    },
    describedBy: {
      args: {
        type: 'object',
        properties: {
          id: {
            type: 'string',
            description: 'Id of the cluster; if missing, the one in the panel'
          },
          name: { type: 'string', description: 'Name of the cluster' },
          label: { type: 'string', description: 'Label of the menu item' }
        }
      }
    }
  });
}

/** The command that inserts the first cells of ranks. */
function addSnippetCommand(parts: INotebookParts): void {
  const { app, tracker, trans } = parts;
  app.commands.addCommand(CommandIDs.insertSnippet, {
    label: trans.__('Insert a Distributed Cell'),
    caption: trans.__(
      'Below the current cell; without a notebook, in a new one'
    ),
    execute: async args => {
      const panel = tracker.currentWidget ?? (await newNotebook(app));
      if (!panel) {
        return false;
      }
      await panel.context.ready;
      const fresh = isEmpty(panel);
      const sources = args.load === false ? [SNIPPET] : [LOAD_LINE, SNIPPET];
      sources.forEach((source, i) => {
        if (i > 0 || !fresh) {
          NotebookActions.insertBelow(panel.content);
        }
        panel.content.activeCell?.model.sharedModel.setSource(source);
      });
      // select the first of them: each Shift+Enter continues with the next
      panel.content.activeCellIndex -= sources.length - 1;
      app.shell.activateById(panel.id);
      tellBriefly(
        trans._n(
          'The cell is in %2. Run it with Shift+Enter.',
          'The %1 cells are in %2. Run them with Shift+Enter.',
          sources.length,
          panel.title.label
        )
      );
      return true;
    },
    describedBy: {
      args: {
        type: 'object',
        properties: {
          load: {
            type: 'boolean',
            description: 'Whether to insert the line that loads the magics, too'
          }
        }
      }
    }
  });
}

/** The command that puts a change which advice suggests into its cell. */
function addKeepCommand(parts: INotebookParts): void {
  const { app, model, adviceState, tracker, records, trans } = parts;
  app.commands.addCommand(CommandIDs.keepChange, {
    label: trans.__('Keep the Suggested Change'),
    caption: trans.__('Put the change into the cell'),
    isEnabled: args => isId(args.id) && isId(args.advice),
    execute: args => {
      const cluster = model.clusters.find(c => c.id === args.id);
      const advice = cluster?.metrics.advice.find(a => a.id === args.advice);
      if (cluster && advice) {
        keepChange(cluster, advice, tracker, records, adviceState, trans);
      }
    },
    describedBy: {
      args: {
        type: 'object',
        properties: {
          id: { type: 'string', description: 'Id of the cluster' },
          advice: { type: 'string', description: 'Id of the advice' }
        },
        required: ['id', 'advice']
      }
    }
  });
}

/** The command that shows a cell. */
function addCellCommand(parts: INotebookParts): void {
  const { app, tracker, records, trans } = parts;
  const { commands } = app;
  commands.addCommand(CommandIDs.showCell, {
    label: trans.__('Go to the Cell'),
    caption: trans.__('Show a cell of a notebook'),
    isEnabled: args => isId(args.notebook),
    execute: async args => {
      if (typeof args.notebook === 'string') {
        const place = args as unknown as ICell;
        await showCell(place, { commands, tracker, records, trans });
      }
    },
    describedBy: {
      args: {
        type: 'object',
        properties: {
          notebook: { type: 'string', description: 'Path of the notebook' },
          cell_id: { type: 'string', description: 'Id of the cell' },
          cell: {
            type: 'string',
            description: 'Name of the cell, such as [7]'
          },
          line: {
            type: 'number',
            description: 'Number of a line in the cell, from 1'
          }
        },
        required: ['notebook']
      }
    }
  });
}

/** The command that opens the quickstart notebook. */
function addQuickstartCommand(parts: INotebookParts): void {
  const { app, browser, trans } = parts;
  const { commands } = app;
  commands.addCommand(CommandIDs.openQuickstart, {
    label: trans.__('Open the Quickstart Notebook'),
    caption: trans.__('Train on several ranks, step by step'),
    execute: () =>
      reportErrors(trans, () =>
        openQuickstart(
          browser?.model.path ?? '',
          app.serviceManager.contents,
          app.serviceManager.serverSettings,
          commands,
          trans
        )
      ),
    describedBy: { args: { type: 'object', properties: {} } }
  });
}

/** A new notebook with the server's default kernel. */
async function newNotebook(
  app: JupyterFrontEnd
): Promise<NotebookPanel | null> {
  await app.serviceManager.kernelspecs.ready;
  const panel: unknown = await app.commands.execute('notebook:create-new', {
    kernelName: app.serviceManager.kernelspecs.specs?.default
  });
  return panel instanceof NotebookPanel ? panel : null;
}

/** Whether it is still empty. */
function isEmpty(panel: NotebookPanel): boolean {
  const { widgets } = panel.content;
  return widgets.every(w => w.model.sharedModel.getSource().trim() === '');
}
