import { ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { Dialog, WidgetTracker } from '@jupyterlab/apputils';
import { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStateDB } from '@jupyterlab/statedb';
import { TranslationBundle } from '@jupyterlab/translation';

import { CommandIDs } from '../commands';
import { IJobs, ILiveState, ISite } from '../tokens';
import { confirmDiscard, draftsIn, typedIn } from './form/drafts';
import { formCommand } from './formCommand';
import { followRenames } from './renamedForms';
import { chosenNotebook, openedNotebook, OpenNotebook } from './form/notebook';
import { highlightWith } from './preview/highlight';
import { submitIcon } from '../ui/icons/icons';
import { addView, showView } from '../ui/mainArea';
import type { SubmitView } from './widgets';
import { openDialog } from '../ui/dialog';

/** Dependencies of the form; null if the front end lacks them. */
export interface ISubmitDependencies {
  app: JupyterFrontEnd;
  model: ILiveState;
  site: ISite;
  jobs: IJobs;
  notebooks: INotebookTracker | null;
  browser: IDefaultFileBrowser | null;
  languages: IEditorLanguageRegistry | null;
  state: IStateDB | null;
  restorer: ILayoutRestorer | null;
  openNotebook: OpenNotebook;
  trans: TranslationBundle;
}

/** The command that opens the form of a notebook. */
export function addSubmit(dependencies: ISubmitDependencies): void {
  const { app, model, site, jobs, notebooks, browser, languages, trans } =
    dependencies;
  const { commands, shell } = app;
  const forms = new WidgetTracker<SubmitView>({ namespace: 'dtrain-submit' });
  const drafts = draftsIn(dependencies.state);
  const { contents } = app.serviceManager;

  const confirmLarge = async (ranks: number): Promise<boolean> => {
    const { button } = await openDialog({
      title: trans._n('Submit %1 rank?', 'Submit %1 ranks?', ranks),
      body: trans.__('They hold that many GPUs until the job ends.'),
      buttons: [
        Dialog.cancelButton(),
        Dialog.okButton({ label: trans.__('Submit') })
      ]
    });
    return button.accept;
  };
  const open = async (
    path: string,
    like: string | null,
    shown = true
  ): Promise<void> => {
    const { submitId, SubmitView } = await import('./widgets');
    const open = forms.find(f => f.id === submitId(path, like));
    if (open) {
      showView(shell, open);
      return;
    }
    const view: SubmitView = new SubmitView({
      notebook: {
        path,
        // read later, by the view: JupyterLab's layout waits for this command, and the notebook for the
        // layout
        read: () =>
          openedNotebook(path, {
            tracker: notebooks,
            contents,
            open: dependencies.openNotebook,
            restored: app.restored,
            opened: () => showView(shell, view)
          })
      },
      drafts,
      typed: typedIn(dependencies.state, submitId(path, like)),
      highlight: highlightWith(languages),
      like,
      model,
      site,
      jobs,
      commands,
      trans,
      confirmLarge,
      confirmDiscard: () => confirmDiscard(trans)
    });
    void forms.add(view);
    addView(shell, view);
    if (shown) {
      showView(shell, view);
    }
  };
  followRenames(contents, dependencies.state, {
    filter: wanted => forms.filter(wanted),
    open
  });
  commands.addCommand(
    CommandIDs.submitNotebook,
    formCommand({
      label: args =>
        args.toolbar ? trans.__('Submit') : trans.__('Submit Notebook…'),
      caption: trans.__('Run this notebook as a job on many nodes'),
      icon: submitIcon,
      properties: {
        like: {
          type: 'string',
          description: 'Id of the job whose request fills the form'
        }
      },
      chosen: () => chosenNotebook(shell, notebooks, browser),
      browser,
      open: (path, args) =>
        open(path, (args.like as string | undefined) ?? null),
      trans
    })
  );
  void dependencies.restorer?.restore(forms, {
    command: CommandIDs.submitNotebook,
    name: view => view.id,
    args: view => view.args
  });
  notebooks?.currentChanged.connect(() =>
    commands.notifyCommandChanged(CommandIDs.submitNotebook)
  );
}
