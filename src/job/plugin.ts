import {
  ILayoutRestorer,
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import {
  Dialog,
  ICommandPalette,
  IToolbarWidgetRegistry,
  Notification,
  showDialog,
  WidgetTracker
} from '@jupyterlab/apputils';
import { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { IStateDB } from '@jupyterlab/statedb';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { CommandToolbarButton } from '@jupyterlab/ui-components';
import { PathExt } from '@jupyterlab/coreutils';

import { confirmLoss, showStacks } from '../cluster/dialogs';
import { guarded } from '../cluster/actions';
import { CommandIDs } from '../commands';
import { namesIn } from '../notebook/kernel';
import { IClusters } from '../tokens';
import { distributedIcon } from '../ui/icons';
import { IDrafts, INotebook } from './form';
import { Jobs } from './model';
import { announceJobs } from './notices';
import { defaultsOf, IForm } from './request';
import type { JobsView, JobView, SubmitView } from './widgets';

/** Jobs: list, views, the form, and what can be done with them. */
export const jobsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:jobs',
  description: 'Submits notebooks as jobs, and shows them.',
  autoStart: true,
  requires: [IClusters],
  optional: [
    INotebookTracker,
    IToolbarWidgetRegistry,
    IDefaultFileBrowser,
    ICommandPalette,
    ILayoutRestorer,
    ITranslator,
    IStateDB,
    IEditorLanguageRegistry
  ],
  activate: (
    app: JupyterFrontEnd,
    model: IClusters,
    notebooks: INotebookTracker | null,
    toolbar: IToolbarWidgetRegistry | null,
    browser: IDefaultFileBrowser | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null,
    state: IStateDB | null,
    languages: IEditorLanguageRegistry | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const { commands, shell } = app;
    const jobs = new Jobs(app.serviceManager.serverSettings);
    const lists = new WidgetTracker<JobsView>({ namespace: 'dtrain-jobs' });
    const views = new WidgetTracker<JobView>({ namespace: 'dtrain-job' });
    const forms = new WidgetTracker<SubmitView>({ namespace: 'dtrain-submit' });
    announceJobs(model, commands, trans);

    const openNotebook = async (
      path: string,
      cell?: string,
      line?: number
    ): Promise<void> => {
      const panel: NotebookPanel | undefined = await commands.execute(
        'docmanager:open',
        { path, factory: 'Notebook' }
      );
      if (panel && cell) {
        await panel.context.ready;
        await goTo(panel, cell, line ?? 1);
      }
    };

    commands.addCommand(CommandIDs.showJobs, {
      label: trans.__('Jobs'),
      caption: trans.__('Submitted notebooks'),
      icon: args => (args.launcher ? distributedIcon : undefined),
      execute: async () => {
        const { JobsView } = await import('./widgets');
        let view = lists.currentWidget;
        if (!view || view.isDisposed) {
          view = new JobsView({ model, jobs, commands, trans });
          void lists.add(view);
          shell.add(view, 'main');
        }
        shell.activateById(view.id);
      },
      describedBy: { args: { type: 'object', properties: {} } }
    });

    commands.addCommand(CommandIDs.openJob, {
      label: trans.__('Open'),
      execute: async args => {
        const id = String(args.id ?? '');
        if (!id) {
          return;
        }
        const { JobView } = await import('./widgets');
        let view = views.find(v => v.args.id === id);
        if (!view) {
          const known = model.jobs.find(j => j.id === id)?.name;
          const name = known ?? String(args.name ?? id);
          view = new JobView({
            id,
            name,
            model,
            jobs,
            commands,
            trans,
            openNotebook: (path, cell, line) =>
              void openNotebook(path, cell, line)
          });
          void views.add(view);
          shell.add(view, 'main');
        }
        shell.activateById(view.id);
      },
      describedBy: JOB_ARGS
    });

    const act = (
      id: string,
      label: string,
      run: (job: string, name: string) => Promise<void>
    ): void => {
      commands.addCommand(id, {
        label,
        execute: args =>
          guarded(trans, () =>
            run(String(args.id ?? ''), String(args.name ?? args.id ?? ''))
          ),
        describedBy: JOB_ARGS
      });
    };
    act(CommandIDs.cancelJob, trans.__('Cancel…'), async (id, name) => {
      const sure = await confirmLoss(
        trans.__('Cancel %1?', name),
        trans.__('Its ranks end. What it wrote stays, its checkpoints too.'),
        trans.__('Cancel job'),
        trans
      );
      if (sure) {
        await jobs.cancel(id);
      }
    });
    act(CommandIDs.deleteJob, trans.__('Delete…'), async (id, name) => {
      const sure = await confirmLoss(
        trans.__('Delete %1?', name),
        trans.__(
          'Its folder is removed: log, executed notebook and checkpoints.'
        ),
        trans.__('Delete'),
        trans
      );
      if (sure) {
        await jobs.remove(id);
        views.find(v => v.args.id === id)?.close();
      }
    });
    act(CommandIDs.resumeJob, trans.__('Resume'), async id => {
      const job = await jobs.resume(id);
      await commands.execute(CommandIDs.openJob, {
        id: job.id,
        name: job.name
      });
    });
    act(CommandIDs.jobStacks, trans.__('Stacks'), async (id, name) => {
      await showStacks(name, await jobs.stacks(id), trans);
    });
    act(CommandIDs.duplicateJob, trans.__('Duplicate…'), async id => {
      const { notebook } = await jobs.requestOf(id);
      await commands.execute(CommandIDs.submitNotebook, {
        path: notebook,
        like: id
      });
    });

    const chosen = (): string | null => {
      const current = shell.currentWidget;
      const panel = notebooks?.currentWidget;
      if (panel && (current === panel || !browser)) {
        return panel.context.path;
      }
      const items = browser ? [...browser.selectedItems()] : [];
      const file = items.find(i => PathExt.extname(i.path) === '.ipynb');
      return panel?.context.path ?? file?.path ?? null;
    };

    commands.addCommand(CommandIDs.submitNotebook, {
      label: args =>
        args.toolbar ? trans.__('Submit') : trans.__('Submit Notebook…'),
      caption: trans.__('Run this notebook as a job on many nodes'),
      isEnabled: args => !!(args.path ?? chosen()),
      execute: async args => {
        const picked = args.fromBrowser
          ? [...(browser?.selectedItems() ?? [])][0]?.path
          : undefined;
        const path = (args.path as string | undefined) ?? picked ?? chosen();
        if (!path) {
          Notification.info(trans.__('Open a notebook first.'));
          return;
        }
        const { SubmitView } = await import('./widgets');
        const like = (args.like as string | undefined) ?? null;
        const found = forms.find(
          f => f.id === `dtrain-lab-submit-${path}` && !like
        );
        if (found) {
          shell.activateById(found.id);
          return;
        }
        if (!notebooks?.find(p => p.context.path === path)) {
          await openNotebook(path);
        }
        const panel = notebooks?.find(p => p.context.path === path);
        await panel?.context.ready;
        const view = new SubmitView({
          notebook: notebookOf(panel, path, openNotebook),
          drafts: draftsIn(state),
          highlight: async (code, language, into) => {
            const known = languages?.findBest(language) ?? null;
            await (languages
              ? languages.highlight(code, known, into)
              : into.append(code));
          },
          like,
          model,
          jobs,
          commands,
          trans,
          confirmLarge: async ranks =>
            (
              await showDialog({
                title: trans.__('Submit %1 ranks?', ranks),
                body: trans.__('They use so many GPUs until the job ends.'),
                buttons: [
                  Dialog.cancelButton(),
                  Dialog.okButton({ label: trans.__('Submit') })
                ]
              })
            ).button.accept
        });
        void forms.add(view);
        shell.add(view, 'main');
        shell.activateById(view.id);
      },
      describedBy: {
        args: {
          type: 'object',
          properties: {
            path: { type: 'string', description: 'The notebook' },
            like: { type: 'string', description: 'Job that fills the form' }
          }
        }
      }
    });
    notebooks?.currentChanged.connect(() =>
      commands.notifyCommandChanged(CommandIDs.submitNotebook)
    );
    toolbar?.addFactory<NotebookPanel>(
      'Notebook',
      'dtrain-submit',
      panel =>
        new CommandToolbarButton({
          commands,
          id: CommandIDs.submitNotebook,
          args: { toolbar: true, path: panel.context.path },
          label: trans.__('Submit')
        })
    );
    for (const command of [CommandIDs.showJobs, CommandIDs.submitNotebook]) {
      palette?.addItem({ command, category: trans.__('Distributed') });
    }
    void restorer?.restore(lists, {
      command: CommandIDs.showJobs,
      name: () => 'jobs'
    });
    void restorer?.restore(views, {
      command: CommandIDs.openJob,
      name: view => view.args.id,
      args: view => view.args
    });
  }
};

const JOB_ARGS = {
  args: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'Id of the job' },
      name: { type: 'string', description: 'Its name' }
    }
  }
} as const;

/** Forms kept in the browser's state; without one they last as long as this page. */
function draftsIn(state: IStateDB | null): IDrafts {
  const held = new Map<string, IForm>();
  const key = (path: string): string => `dtrain-lab:submit:${path}`;
  return {
    load: async path =>
      ((await state?.fetch(key(path))) as unknown as IForm | undefined) ??
      held.get(path) ??
      null,
    save: async (path, form) => {
      held.set(path, form);
      await state?.save(key(path), { ...form });
    },
    remove: async path => {
      held.delete(path);
      await state?.remove(key(path));
    }
  };
}

/** The code cell of a name ("[3]": the third), and the line in it. */
async function goTo(
  panel: NotebookPanel,
  cell: string,
  line: number
): Promise<void> {
  const { content } = panel;
  const wanted = Number(cell.replace(/\D/g, ''));
  let count = 0;
  const index = content.widgets.findIndex(
    w => w.model.type === 'code' && ++count === wanted
  );
  if (index < 0) {
    return;
  }
  content.activeCellIndex = index;
  await content.scrollToItem(index, 'center');
  const target = content.widgets[index];
  await target.ready;
  content.mode = 'edit';
  target.editor?.setCursorPosition({ line: line - 1, column: 0 });
}

function notebookOf(
  panel: NotebookPanel | undefined,
  path: string,
  open: (path: string, cell?: string, line?: number) => Promise<void>
): INotebook {
  const cells = panel?.content.model?.cells;
  let parameters = '';
  for (let i = 0; cells && i < cells.length; i++) {
    const cell = cells.get(i);
    const tags = (cell.getMetadata('tags') as string[] | undefined) ?? [];
    if (tags.includes('parameters')) {
      parameters = defaultsOf(cell.sharedModel.getSource());
    }
  }
  return {
    path,
    parameters,
    save: async () => {
      if (panel && !panel.isDisposed && panel.context.model.dirty) {
        await panel.context.save();
      }
    },
    names: async () => {
      const kernel = panel?.sessionContext.session?.kernel;
      return kernel && kernel.status === 'idle' ? namesIn(kernel) : null;
    },
    open: (cell, line) => void open(path, cell, line)
  };
}
