import {
  ILayoutRestorer,
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette, WidgetTracker } from '@jupyterlab/apputils';
import { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStateDB } from '@jupyterlab/statedb';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { CommandIDs } from '../commands';
import { IJobs, IKernelRecords, ILiveState, ISite, ISweeps } from '../tokens';
import { addSweepCommands } from './commands';
import { SweepRequests } from './model/requests';
import type { SweepView } from './widgets';

/** Sweeps: form, views and commands. */
export const sweepsPlugin: JupyterFrontEndPlugin<ISweeps> = {
  id: 'dtrain-lab:sweeps',
  description: 'Varies parameters of a notebook over many jobs.',
  autoStart: true,
  provides: ISweeps,
  requires: [ILiveState, ISite, IJobs, IKernelRecords],
  optional: [
    INotebookTracker,
    IDefaultFileBrowser,
    ICommandPalette,
    ILayoutRestorer,
    ITranslator,
    IStateDB,
    IEditorLanguageRegistry
  ],
  activate: (
    app: JupyterFrontEnd,
    model: ILiveState,
    site: ISite,
    jobs: IJobs,
    records: IKernelRecords,
    notebooks: INotebookTracker | null,
    browser: IDefaultFileBrowser | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null,
    state: IStateDB | null,
    languages: IEditorLanguageRegistry | null
  ): ISweeps => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const sweeps = new SweepRequests(app.serviceManager.serverSettings);
    sweeps.seen.connect((_, seen) => {
      // one that has begun has no job yet, by which the page would notice it
      if (seen.some(s => s.state === 'running' || s.state === 'stopping')) {
        model.look();
      }
    });
    const views = new WidgetTracker<SweepView>({ namespace: 'dtrain-sweep' });
    addSweepCommands({
      app,
      model,
      site,
      jobs,
      records,
      sweeps,
      notebooks,
      browser,
      languages,
      state,
      restorer,
      views,
      trans
    });
    palette?.addItem({
      command: CommandIDs.sweepNotebook,
      category: trans.__('Distributed')
    });
    void restorer?.restore(views, {
      command: CommandIDs.openSweep,
      name: view => view.args.id,
      args: view => view.args
    });
    return sweeps;
  }
};
