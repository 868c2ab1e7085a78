import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import {
  ICommandPalette,
  InputDialog,
  Notification
} from '@jupyterlab/apputils';
import { IDebugger, IDebuggerSidebar } from '@jupyterlab/debugger';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { AccordionPanel, Panel } from '@lumino/widgets';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { CommandIDs } from '../commands';
import { runQuietly } from '../notebook/kernel';
import { IClusters } from '../tokens';
import { DebugModel } from './model';
import { AcrossSection, RanksSection } from './widgets';

/** All ranks in JupyterLab's own debugger. */
export const debugPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:debug',
  description: 'Ranks, and values across them, in the debugger’s sidebar.',
  autoStart: true,
  requires: [IClusters, INotebookTracker],
  optional: [IDebugger, IDebuggerSidebar, ICommandPalette, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    clusters: IClusters,
    tracker: INotebookTracker,
    debug: IDebugger | null,
    sidebar: IDebugger.ISidebar | null,
    palette: ICommandPalette | null,
    translator: ITranslator | null
  ): void => {
    if (!debug || !sidebar) {
      return; // a front end without a debugger
    }
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const { commands } = app;
    const model = new DebugModel(debug);
    const onError = (error: unknown): void => {
      Notification.error(
        error instanceof Error ? error.message : String(error),
        { autoClose: 8000 }
      );
    };
    const args = { model, debug, tracker, trans, onError };
    sidebar.insertWidget(0, new RanksSection(args));
    sidebar.insertWidget(1, new AcrossSection(args));
    // equal shares would leave the ranks three lines
    const { content } = sidebar as unknown as { content?: Panel };
    if (content instanceof AccordionPanel) {
      content.setRelativeSizes([4, 3, 3, 2, 2, 1]);
    }

    commands.addCommand(CommandIDs.debugRank, {
      label: trans.__('Look at a Rank in the Debugger'),
      caption: trans.__('Show the stack and the variables of this rank'),
      isEnabled: () => !!model.view?.on,
      execute: async args => {
        const rank =
          (args.rank as number | undefined) ??
          (
            await InputDialog.getNumber({
              title: trans.__('Look at which rank?'),
              value: model.view?.focus ?? 0
            })
          ).value;
        if (rank !== null && rank !== undefined) {
          app.shell.activateById('jp-debugger-sidebar');
          await model.focus(rank).catch(onError);
        }
      },
      describedBy: {
        args: {
          type: 'object',
          properties: {
            rank: { type: 'number', description: 'The rank to look at' }
          }
        }
      }
    });
    commands.addCommand(CommandIDs.toggleLockstep, {
      label: trans.__('Step All Ranks Together'),
      caption: trans.__('Off: a step moves only the rank that you look at'),
      isToggleable: true,
      isToggled: () => model.view?.mode === 'all',
      isEnabled: () => !!model.view?.on,
      execute: async () => {
        const mode = model.view?.mode === 'all' ? 'this' : 'all';
        await model.send('dtrain/mode', { mode }).catch(onError);
      },
      describedBy: { args: { type: 'object', properties: {} } }
    });
    commands.addCommand(CommandIDs.compareVariable, {
      label: trans.__('Compare Across Ranks'),
      caption: trans.__('Lay a value of all ranks side by side'),
      isEnabled: () => !!model.view?.on,
      execute: async args => {
        const expression =
          (args.expression as string | undefined) ??
          (
            await InputDialog.getText({
              title: trans.__('Compare which expression?'),
              placeholder: 'loss'
            })
          ).value;
        if (expression) {
          model.compare(expression);
        }
      },
      describedBy: {
        args: {
          type: 'object',
          properties: {
            expression: {
              type: 'string',
              description: 'Evaluated on all ranks'
            }
          }
        }
      }
    });
    commands.addCommand(CommandIDs.debugJob, {
      label: trans.__('Debug a Job'),
      caption: trans.__('Debug a running job from its notebook'),
      isEnabled: () => true,
      execute: async args => {
        const job = clusters.jobs.find(j => j.id === args.id);
        if (!job) {
          return;
        }
        const panel = (await commands.execute('docmanager:open', {
          path: job.notebook
        })) as NotebookPanel;
        await panel.context.ready;
        await panel.sessionContext.ready;
        const kernel = panel.sessionContext.session?.kernel;
        const error = kernel
          ? await runQuietly(kernel, debugCode(job.id))
          : { ename: '', evalue: trans.__('The notebook has no kernel.') };
        if (error) {
          onError(error.evalue);
          return;
        }
        app.shell.activateById('jp-debugger-sidebar');
        Notification.info(
          debug.session?.isStarted
            ? trans.__('Breakpoints of this notebook stop %1 now.', job.name)
            : trans.__(
                'Turn the debugger on (the bug in the toolbar): breakpoints of this notebook stop %1 then.',
                job.name
              ),
          { autoClose: 8000 }
        );
      },
      describedBy: {
        args: {
          type: 'object',
          properties: { id: { type: 'string', description: 'Of the job' } }
        }
      }
    });
    let on = false;
    model.changed.connect(() => {
      if (on !== !!model.view?.on) {
        on = !!model.view?.on;
        for (const command of OURS) {
          commands.notifyCommandChanged(command);
        }
      }
    });
    for (const command of OURS) {
      palette?.addItem({ command, category: trans.__('Distributed') });
    }
  }
};

/** What a notebook's kernel runs to debug a job. */
function debugCode(id: string): string {
  return [
    "__import__('dtrain_lab').load_ipython_extension(get_ipython())",
    `__import__('dtrain_lab.api.job', fromlist=['job']).job(${JSON.stringify(id)}).debug()`
  ].join('\n');
}

const OURS = [
  CommandIDs.debugRank,
  CommandIDs.toggleLockstep,
  CommandIDs.compareVariable
];
