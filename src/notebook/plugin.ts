import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import {
  INotebookTracker,
  NotebookActions,
  NotebookPanel
} from '@jupyterlab/notebook';
import { Kernel } from '@jupyterlab/services';
import {
  ITranslator,
  nullTranslator,
  TranslationBundle
} from '@jupyterlab/translation';

import { SNIPPET } from '../cluster/empty';
import { CommandIDs } from '../commands';
import { IClusters } from '../tokens';
import { isIPython, runQuietly } from './kernel';

// not as an extension: a later %load_ext of the user's would say that it is loaded already
const LOAD = "__import__('dtrain_lab').load_ipython_extension(get_ipython())";

/** Attaches notebooks to clusters, and makes the magics ready in the current one. */
export const notebookPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:notebook',
  description: 'Attaches notebooks to clusters; loads the magics silently.',
  autoStart: true,
  requires: [IClusters, INotebookTracker],
  optional: [ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: IClusters,
    tracker: INotebookTracker,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const { commands } = app;
    const loaded = new Set<string>();
    const lacking = new Set<string>();

    commands.addCommand(CommandIDs.attachNotebook, {
      label: args =>
        args.name
          ? trans.__('Use %1', args.name)
          : trans.__('Attach to the Notebook'),
      caption: trans.__('Run the cells of the current notebook here'),
      isEnabled: () => !!tracker.currentWidget && !!model.selected,
      execute: async args => {
        const cluster =
          model.clusters.find(c => c.id === args.id) ?? model.selected;
        const panel = tracker.currentWidget;
        if (cluster && panel) {
          await attach(panel, cluster.name, trans);
        }
      },
      describedBy: {
        args: {
          type: 'object',
          properties: { id: { type: 'string' }, name: { type: 'string' } }
        }
      }
    });

    commands.addCommand(CommandIDs.insertSnippet, {
      label: trans.__('Insert a Distributed Cell'),
      isEnabled: () => !!tracker.currentWidget,
      execute: () => {
        const panel = tracker.currentWidget;
        if (!panel) {
          Notification.info(trans.__('Open a notebook first.'));
          return;
        }
        for (const source of SNIPPET.split(/\n(?=%%)/)) {
          NotebookActions.insertBelow(panel.content);
          panel.content.activeCell?.model.sharedModel.setSource(source);
        }
      },
      describedBy: { args: { type: 'object', properties: {} } }
    });

    const prepare = async (): Promise<void> => {
      const kernel = tracker.currentWidget?.sessionContext.session?.kernel;
      model.kernel = kernel?.name ?? null;
      model.notebook = tracker.currentWidget?.context.path ?? null;
      if (kernel && model.site && !loaded.has(kernel.id)) {
        loaded.add(kernel.id);
        kernel.statusChanged.connect((_, status) => {
          if (status === 'restarting' || status === 'autorestarting') {
            loaded.delete(kernel.id);
          }
        });
        lacking.delete(kernel.id);
        if (!(await load(kernel))) {
          lacking.add(kernel.id);
        }
      }
      model.kernelLacks = !!kernel && lacking.has(kernel.id);
    };
    model.changed.connect(() => void prepare());
    tracker.currentChanged.connect(() => void prepare());
  }
};

/** Make the magics ready; false where the kernel has no dtrain-lab. */
async function load(kernel: Kernel.IKernelConnection): Promise<boolean> {
  if (!(await isIPython(kernel))) {
    return true;
  }
  const error = await runQuietly(kernel, LOAD);
  return error?.ename !== 'ModuleNotFoundError';
}

async function attach(
  panel: NotebookPanel,
  name: string,
  trans: TranslationBundle
): Promise<void> {
  const kernel = panel.sessionContext.session?.kernel;
  if (!kernel) {
    Notification.warning(trans.__('This notebook has no kernel.'));
    return;
  }
  const code = `${LOAD}\nget_ipython().run_line_magic('distributed', 'attach ${name}')`;
  const error = await runQuietly(kernel, code);
  if (error === null) {
    Notification.success(trans.__('%1 uses %2.', panel.title.label, name), {
      autoClose: 4000
    });
  } else if (error.ename === 'ModuleNotFoundError') {
    Notification.error(
      trans.__(
        "This notebook's kernel has no dtrain-lab. Run in a cell: %1",
        '%pip install dtrain-lab'
      )
    );
  } else {
    Notification.error(error.evalue);
  }
}
