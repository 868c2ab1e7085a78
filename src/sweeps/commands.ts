import { ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { WidgetTracker } from '@jupyterlab/apputils';
import { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStateDB } from '@jupyterlab/statedb';
import { TranslationBundle } from '@jupyterlab/translation';

import { reportErrors } from '../cluster/dialogs/reportErrors';
import { confirmLoss } from '../cluster/dialogs/dialogs';
import { CommandIDs, isId } from '../commands';
import { closeExecuted } from '../job/executedDrive';
import { confirmDiscard, draftsIn, typedIn } from '../job/form/drafts';
import { formCommand } from '../job/formCommand';
import {
  chosenNotebook,
  openedNotebook,
  openingWith
} from '../job/form/notebook';
import { withNames } from '../job/model/refusal';
import { followRenames } from '../job/renamedForms';
import { distinctName } from '../job/model/texts';
import { highlightWith } from '../job/preview/highlight';
import {
  IJobs,
  IKernelRecords,
  ILiveState,
  ISite,
  ISweeps,
  Sweep
} from '../tokens';
import { sweepIcon } from '../ui/icons/viewIcons';
import { addView, showView } from '../ui/mainArea';
import type { ISweepForm } from './model/formRequest';
import type { SweepFormView, SweepView } from './widgets';

/** Dependencies of the commands; null if the front end lacks them. */
export interface ISweepDependencies {
  app: JupyterFrontEnd;
  model: ILiveState;
  site: ISite;
  jobs: IJobs;
  records: IKernelRecords;
  sweeps: ISweeps;
  notebooks: INotebookTracker | null;
  browser: IDefaultFileBrowser | null;
  languages: IEditorLanguageRegistry | null;
  state: IStateDB | null;
  restorer: ILayoutRestorer | null;
  views: WidgetTracker<SweepView>;
  trans: TranslationBundle;
}

/** Arguments of commands for a sweep. */
const SWEEP_ARGS = {
  args: {
    type: 'object',
    required: ['id'],
    properties: {
      id: { type: 'string', description: 'Id of the sweep' },
      name: { type: 'string', description: 'Name of the sweep' }
    }
  }
} as const;

/** Commands to start, show, stop, resume and delete a sweep. */
export function addSweepCommands(dependencies: ISweepDependencies): void {
  const { app, jobs, sweeps, views, trans } = dependencies;
  const { commands, shell } = app;
  const openNotebook = openingWith(commands, dependencies.records, trans);

  addForm(dependencies);
  commands.addCommand(CommandIDs.openSweep, {
    label: trans.__('Open'),
    caption: trans.__('Show a sweep and its trials'),
    icon: args => (args.toolbar ? sweepIcon : undefined),
    isEnabled: args => isId(args.id),
    execute: async args => {
      const { id } = args;
      if (!isId(id)) {
        return;
      }
      const { SweepView } = await import('./widgets');
      const find = (): SweepView | undefined =>
        views.find(v => v.args.id === id);
      const name = find()
        ? ''
        : String(args.name ?? (await sweeps.get(id)).name);
      let view = find();
      if (!view) {
        view = new SweepView({
          id,
          name,
          sweeps,
          commands,
          trans,
          openNotebook: path => void openNotebook(path)
        });
        void views.add(view);
        addView(shell, view);
      }
      showView(shell, view);
    },
    describedBy: SWEEP_ARGS
  });
  const act = (
    id: string,
    label: string,
    caption: string,
    run: (sweep: string, name: string) => Promise<Sweep | undefined>
  ): void => {
    commands.addCommand(id, {
      label,
      caption: args =>
        isId(args.id) ? caption : trans.__('Choose this in the list of jobs.'),
      isEnabled: args => isId(args.id),
      execute: async args => {
        let now: Sweep | undefined;
        const { id: sweep, name } = args;
        if (isId(sweep)) {
          await reportErrors(trans, async () => {
            now = await run(sweep, String(name ?? sweep));
          });
        }
        return now;
      },
      describedBy: SWEEP_ARGS
    });
  };
  const called = async (id: string, name: string): Promise<string> => {
    const known = sweeps.lastAnswer.some(sweep => sweep.id === id)
      ? sweeps.lastAnswer
      : await sweeps.all();
    const sweep = known.find(one => one.id === id);
    return sweep ? distinctName(sweep, known, trans) : name;
  };
  act(
    CommandIDs.stopSweep,
    trans.__('Stop…'),
    trans.__('End the trials of a sweep; their checkpoints are kept'),
    async (id, name) => {
      const sure = await confirmLoss(
        trans.__('Stop the sweep %1?', await called(id, name)),
        trans.__(
          'Its trials end. Their checkpoints are kept, and Resume continues from them; trials without a checkpoint start from the beginning.'
        ),
        trans.__('Stop sweep'),
        trans
      );
      return sure ? sweeps.stop(id) : undefined;
    }
  );
  act(
    CommandIDs.resumeSweep,
    trans.__('Resume'),
    trans.__('Resume stopped trials, and start the others'),
    id => sweeps.resume(id)
  );
  act(
    CommandIDs.deleteSweep,
    trans.__('Delete…'),
    trans.__('Remove a sweep, and the jobs of its trials'),
    async (id, name) => {
      const sure = await confirmLoss(
        trans.__('Delete the sweep %1?', await called(id, name)),
        trans.__(
          'Its record is removed, and so are the jobs of its trials with their folders: logs, executed notebooks and checkpoints, those of the best trial too.'
        ),
        trans.__('Delete'),
        trans
      );
      if (sure) {
        const trials = sweeps.lastAnswer.find(s => s.id === id)?.trials ?? [];
        await sweeps.remove(id).catch(async error => {
          // without an answer, those of the last one: the refusal itself must be told
          const known = await jobs.all().catch(() => jobs.lastAnswer);
          throw withNames(error, null, known, trans);
        });
        views.find(view => view.args.id === id)?.close();
        closeExecuted(
          shell,
          trials.flatMap(({ job }) => job ?? [])
        );
      }
      return undefined;
    }
  );
}

/** The command that opens the form of a notebook. */
function addForm(dependencies: ISweepDependencies): void {
  const { app, model, site, jobs, sweeps, notebooks, browser, trans } =
    dependencies;
  const { commands, shell, serviceManager } = app;
  const { state } = dependencies;
  const drafts = draftsIn(state, 'sweep');
  const spaces = draftsIn<ISweepForm>(state, 'sweep-space');
  const forms = new WidgetTracker<SweepFormView>({
    namespace: 'dtrain-sweep-form'
  });
  const openNotebook = openingWith(commands, dependencies.records, trans);
  const open = async (path: string, shown = true): Promise<void> => {
    const { sweepFormId, SweepFormView } = await import('./widgets');
    const open = forms.find(f => f.id === sweepFormId(path));
    if (open) {
      showView(shell, open);
      return;
    }
    const view: SweepFormView = new SweepFormView({
      notebook: {
        path,
        // read later, by the view: JupyterLab's layout waits for this command, and the notebook for the
        // layout
        read: () =>
          openedNotebook(path, {
            tracker: notebooks,
            contents: serviceManager.contents,
            open: openNotebook,
            restored: app.restored,
            opened: () => showView(shell, view)
          })
      },
      drafts,
      spaces,
      typed: typedIn(state, sweepFormId(path)),
      highlight: highlightWith(dependencies.languages),
      model,
      site,
      jobs,
      sweeps,
      commands,
      trans,
      confirmDiscard: () => confirmDiscard(trans)
    });
    void forms.add(view);
    addView(shell, view);
    if (shown) {
      showView(shell, view);
    }
  };
  followRenames(serviceManager.contents, state, {
    filter: wanted => forms.filter(wanted),
    open: (path, _, shown) => open(path, shown)
  });

  commands.addCommand(
    CommandIDs.sweepNotebook,
    formCommand({
      label: trans.__('Sweep…'),
      caption: trans.__('Vary parameters of this notebook over many jobs'),
      icon: sweepIcon,
      chosen: () => chosenNotebook(shell, notebooks, browser),
      browser,
      open: path => open(path),
      trans
    })
  );
  void dependencies.restorer?.restore(forms, {
    command: CommandIDs.sweepNotebook,
    name: view => view.id,
    args: view => view.args
  });
  notebooks?.currentChanged.connect(() =>
    commands.notifyCommandChanged(CommandIDs.sweepNotebook)
  );
}
