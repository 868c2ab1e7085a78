import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import {
  ICommandPalette,
  ISessionContext,
  Notification
} from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import {
  INotebookTracker,
  NotebookActions,
  NotebookPanel
} from '@jupyterlab/notebook';
import { Kernel } from '@jupyterlab/services';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { attachedTo } from '../cluster/model/notebookCluster';
import {
  kernelPath,
  kernelUseChanged,
  lastCluster
} from '../locations/kernelPath';
import { reportErrors } from '../cluster/dialogs/reportErrors';
import { CommandIDs } from '../commands';
import { LOAD_LINE, SNIPPET } from '../snippets';
import { IAdviceState, ILiveState, ISelection, ISite } from '../tokens';
import { TOAST_MS } from '../ui/actionButton';
import { ICell, showCell } from './cells';
import { keepChange } from './applyChange';
import { followKernels } from './kernelRecords';
import { attach, loadMagics } from './magics';
import { openQuickstart } from './quickstart';
import { restartNote } from './texts';

/** Attaches notebooks to clusters, and loads the magics in the current one. */
export const notebookPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:notebook',
  description: 'Attaches notebooks to clusters; loads the magics silently.',
  autoStart: true,
  requires: [ILiveState, ISite, ISelection, IAdviceState, INotebookTracker],
  optional: [IDefaultFileBrowser, ICommandPalette, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: ILiveState,
    site: ISite,
    selection: ISelection,
    adviceState: IAdviceState,
    tracker: INotebookTracker,
    browser: IDefaultFileBrowser | null,
    palette: ICommandPalette | null,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const { commands } = app;
    const loaded = new Set<string>();
    const lacking = new Set<string>();

    commands.addCommand(CommandIDs.attachNotebook, {
      label: args =>
        (args.label as string | undefined) ??
        trans.__('Attach to the Notebook'),
      caption: trans.__('Run the cells of the current notebook here'),
      isEnabled: () => !!tracker.currentWidget && model.clusters.length > 0,
      isToggleable: true,
      isToggled: args => {
        const panel = tracker.currentWidget;
        const own = panel
          ? attachedTo(model.clusters, kernelPath(panel), lastCluster(panel))
          : null;
        return !!own && own.id === args.id;
      },
      execute: async args => {
        const cluster =
          model.clusters.find(c => c.id === args.id) ?? selection.cluster;
        const panel = tracker.currentWidget;
        if (!panel) {
          Notification.info(trans.__('Open a notebook first.'), {
            autoClose: TOAST_MS
          });
        } else if (cluster) {
          await attach(panel, cluster.name, trans);
        }
      },
      describedBy: {
        args: {
          type: 'object',
          properties: {
            id: { type: 'string' },
            name: { type: 'string' },
            label: { type: 'string', description: 'Label of the menu item' }
          }
        }
      }
    });

    commands.addCommand(CommandIDs.insertSnippet, {
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
        Notification.success(
          trans._n(
            'The cell is in %2. Run it with Shift+Enter.',
            'The %1 cells are in %2. Run them with Shift+Enter.',
            sources.length,
            panel.title.label
          ),
          { autoClose: TOAST_MS }
        );
        return true;
      },
      describedBy: {
        args: {
          type: 'object',
          properties: {
            load: {
              type: 'boolean',
              description:
                'Whether to insert the line that loads the magics, too'
            }
          }
        }
      }
    });

    commands.addCommand(CommandIDs.keepChange, {
      label: trans.__('Keep the Suggested Change'),
      caption: trans.__('Put the change into the cell'),
      execute: args => {
        const cluster = model.clusters.find(c => c.id === args.id);
        const advice = cluster?.metrics.advice.find(a => a.id === args.advice);
        if (cluster && advice) {
          keepChange(cluster, advice, tracker, adviceState, trans);
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

    commands.addCommand(CommandIDs.showCell, {
      label: trans.__('Go to the Cell'),
      execute: async args => {
        if (typeof args.notebook === 'string') {
          const place = args as unknown as ICell;
          await showCell(place, { commands, tracker, trans });
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
    palette?.addItem({
      command: CommandIDs.openQuickstart,
      category: trans.__('Distributed')
    });
    palette?.addItem({
      command: CommandIDs.insertSnippet,
      category: trans.__('Distributed')
    });

    const kernelNow = (): Kernel.IKernelConnection | null =>
      tracker.currentWidget?.sessionContext.session?.kernel ?? null;
    const tell = (): void => {
      const kernel = kernelNow();
      const panel = tracker.currentWidget;
      selection.setNotebook({
        path: panel?.context.path ?? null,
        startedAs: panel && kernelPath(panel),
        lastCluster: panel && lastCluster(panel),
        kernel: kernel?.name ?? null,
        lacks: !!kernel && lacking.has(kernel.id)
      });
    };
    const prepare = async (): Promise<void> => {
      const kernel = kernelNow();
      const panel = tracker.currentWidget;
      tell();
      if (!kernel || !site.facts || loaded.has(kernel.id)) {
        return;
      }
      const { id } = kernel;
      loaded.add(id);
      lacking.delete(id);
      kernel.statusChanged.connect((_, status) => {
        if (status === 'restarting' || status === 'autorestarting') {
          loaded.delete(id);
          const note =
            panel && restartNote(model.clusters, kernelPath(panel), trans);
          if (note) {
            Notification.info(note, { autoClose: TOAST_MS });
          }
        }
      });
      // the notebook was closed before the kernel answered: it is asked again when reopened
      const forget = (): void => void loaded.delete(id);
      kernel.disposed.connect(forget);
      try {
        if (!(await loadMagics(kernel))) {
          lacking.add(id);
        }
        kernel.disposed.disconnect(forget);
        if (panel) {
          readRecord(panel);
        }
      } catch (error) {
        if (!kernel.isDisposed) {
          throw error;
        }
      }
      // another notebook may be current by now
      tell();
    };
    const { serverSettings } = app.serviceManager;
    const readRecord = followKernels(model, site, tracker, serverSettings);
    kernelUseChanged.connect(tell);
    const look = (): void => void prepare();
    let followed: ISessionContext | null = null;
    model.changed.connect(look);
    site.changed.connect(look);
    tracker.currentChanged.connect((_, panel) => {
      // a notebook that was just opened has no kernel yet
      followed?.kernelChanged.disconnect(look);
      followed?.statusChanged.disconnect(look);
      followed?.propertyChanged.disconnect(look);
      followed = panel?.sessionContext ?? null;
      followed?.kernelChanged.connect(look);
      followed?.statusChanged.connect(look);
      followed?.propertyChanged.connect(look); // a rename
      look();
    });
  }
};

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
