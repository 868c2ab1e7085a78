import {
  ILayoutRestorer,
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import {
  ICommandPalette,
  IToolbarWidgetRegistry,
  WidgetTracker
} from '@jupyterlab/apputils';
import { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { ILauncher } from '@jupyterlab/launcher';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { IStateDB } from '@jupyterlab/statedb';
import {
  ITranslator,
  nullTranslator,
  TranslationBundle
} from '@jupyterlab/translation';
import { CommandToolbarButton } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';

import { CommandIDs } from '../commands';
import { compactItem } from '../notebook/compactToolbar';
import {
  IJobs,
  IKernelRecords,
  ILiveState,
  IPreferences,
  ISite,
  ISweeps
} from '../tokens';
import { submitIcon } from '../ui/icons/icons';
import { addJobCommands } from './jobCommands';
import { closeExecuted, ExecutedDrive, withoutKernel } from './executedDrive';
import { JobRequests } from './model/requests';
import { chosenNotebook, openingWith } from './form/notebook';
import { announceJobs } from './notices';
import { addSubmit } from './submit';
import { addViewCommands } from './viewCommands';
import type { JobsView, JobView } from './widgets';

/** Jobs, as the server answers for them. */
export const jobRequestsPlugin: JupyterFrontEndPlugin<IJobs> = {
  id: 'dtrain-lab:job-requests',
  description: 'Provides the jobs of this user.',
  autoStart: true,
  provides: IJobs,
  activate: (app: JupyterFrontEnd): IJobs =>
    new JobRequests(app.serviceManager.serverSettings)
};

/** Jobs: list, views, form, and commands. */
export const jobsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:jobs',
  description: 'Submits notebooks as jobs, and shows them.',
  autoStart: true,
  requires: [ILiveState, ISite, IJobs, IKernelRecords, IPreferences],
  optional: [
    INotebookTracker,
    IToolbarWidgetRegistry,
    IDefaultFileBrowser,
    ICommandPalette,
    ILauncher,
    ILayoutRestorer,
    ITranslator,
    IStateDB,
    IEditorLanguageRegistry,
    ISweeps
  ],
  activate: (
    app: JupyterFrontEnd,
    model: ILiveState,
    site: ISite,
    jobs: IJobs,
    records: IKernelRecords,
    preferences: IPreferences,
    notebooks: INotebookTracker | null,
    toolbar: IToolbarWidgetRegistry | null,
    browser: IDefaultFileBrowser | null,
    palette: ICommandPalette | null,
    launcher: ILauncher | null,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null,
    state: IStateDB | null,
    languages: IEditorLanguageRegistry | null,
    sweeps: ISweeps | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const { commands } = app;
    const lists = new WidgetTracker<JobsView>({ namespace: 'dtrain-jobs' });
    const views = new WidgetTracker<JobView>({ namespace: 'dtrain-job' });
    const { serviceManager } = app;
    serviceManager.contents.addDrive(
      new ExecutedDrive(jobs, serviceManager.serverSettings, trans)
    );
    if (notebooks) {
      withoutKernel(notebooks);
    }
    announceJobs(
      model,
      preferences,
      commands,
      trans,
      id =>
        !document.hidden &&
        (!!lists.currentWidget?.isVisible ||
          !!views.find(v => v.args.id === id)?.isVisible)
    );

    const openNotebook = openingWith(commands, records, trans);

    addViewCommands({
      app,
      model,
      site,
      jobs,
      sweeps,
      chosen: () => chosenNotebook(app.shell, notebooks, browser),
      lists,
      views,
      openNotebook,
      trans
    });
    addJobCommands(
      app,
      jobs,
      records,
      trans,
      () => model.jobs,
      id => {
        views.find(v => v.args.id === id)?.close();
        closeExecuted(app.shell, [id]);
      }
    );
    addSubmit({
      app,
      model,
      site,
      jobs,
      notebooks,
      browser,
      languages,
      state,
      restorer,
      openNotebook,
      trans
    });
    toolbar?.addFactory<NotebookPanel>('Notebook', 'dtrain-submit', panel =>
      submitButton(panel, commands, trans)
    );
    for (const command of [CommandIDs.showJobs, CommandIDs.submitNotebook]) {
      palette?.addItem({ command, category: trans.__('Distributed') });
    }
    launcher?.add({
      command: CommandIDs.showJobs,
      category: trans.__('Distributed'),
      rank: 2,
      args: { launcher: true }
    });
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

/** The button of a notebook's toolbar that submits it. */
function submitButton(
  panel: NotebookPanel,
  commands: CommandRegistry,
  trans: TranslationBundle
): CommandToolbarButton {
  const button = new CommandToolbarButton({
    commands,
    id: CommandIDs.submitNotebook,
    args: {
      toolbar: true,
      // evaluated at each click: the notebook may have been renamed
      get path() {
        return panel.context.path;
      }
    },
    icon: submitIcon,
    label: trans.__('Submit')
  });
  button.addClass('jp-DtrainNotebook-submit');
  compactItem(panel, 'dtrain-submit', button);
  return button;
}
