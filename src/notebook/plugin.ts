import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { CommandIDs } from '../commands';
import { IAdviceState, ILiveState, ISelection, ISite } from '../tokens';
import { addNotebookCommands } from './commands';
import { followCurrentNotebook } from './currentNotebook';

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
    addNotebookCommands({
      app,
      model,
      selection,
      adviceState,
      tracker,
      browser,
      trans
    });
    palette?.addItem({
      command: CommandIDs.openQuickstart,
      category: trans.__('Distributed')
    });
    palette?.addItem({
      command: CommandIDs.insertSnippet,
      category: trans.__('Distributed')
    });
    followCurrentNotebook(
      model,
      site,
      selection,
      tracker,
      app.serviceManager,
      trans
    );
  }
};
