import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { INotebookTracker, NotebookActions } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { CommandIDs } from '../commands';
import {
  IAdviceState,
  IKernelRecords,
  ILiveState,
  ISelection,
  ISite
} from '../tokens';
import { addNotebookCommands } from './commands';
import { followCurrentNotebook } from './currentNotebook';

/** Attaches notebooks to clusters, and loads the magics in the current one. */
export const notebookPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:notebook',
  description: 'Attaches notebooks to clusters; loads the magics silently.',
  autoStart: true,
  requires: [
    ILiveState,
    ISite,
    ISelection,
    IAdviceState,
    IKernelRecords,
    INotebookTracker
  ],
  optional: [IDefaultFileBrowser, ICommandPalette, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: ILiveState,
    site: ISite,
    selection: ISelection,
    adviceState: IAdviceState,
    records: IKernelRecords,
    tracker: INotebookTracker,
    browser: IDefaultFileBrowser | null,
    palette: ICommandPalette | null,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    addNotebookCommands({
      app,
      model,
      selection,
      adviceState,
      tracker,
      records,
      browser,
      trans
    });
    for (const command of [
      CommandIDs.openQuickstart,
      CommandIDs.insertSnippet,
      CommandIDs.attachNotebook
    ]) {
      palette?.addItem({ command, category: trans.__('Distributed') });
    }
    NotebookActions.executed.connect((_, { cell }) => {
      // it may have started a cluster
      if (/^%%?distributed/m.test(cell.model.sharedModel.getSource())) {
        model.look();
      }
    });
    followCurrentNotebook(
      model,
      site,
      selection,
      tracker,
      records,
      app.serviceManager,
      trans
    );
  }
};
