import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { openNotebookOf } from '../locations/open';
import { cellInView, notebookInView, panelIn } from '../locations/visibility';
import {
  Cluster,
  IClusterActions,
  IKernelRecords,
  ILiveState,
  IPreferences,
  ISelection
} from '../tokens';
import {
  announceCells,
  announceLimit,
  announceProblems,
  Tell
} from './notices';
import { channelOf, OtherWindows } from './otherWindows';

/** Notifications about clusters and their cells. */
export const noticesPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:notices',
  description: 'Notifies of problems of clusters, and of the ends of cells.',
  autoStart: true,
  requires: [
    ILiveState,
    IPreferences,
    ISelection,
    IClusterActions,
    IKernelRecords
  ],
  optional: [INotebookTracker, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: ILiveState,
    preferences: IPreferences,
    selection: ISelection,
    actions: IClusterActions,
    records: IKernelRecords,
    tracker: INotebookTracker | null,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const windows = new OtherWindows(
      channelOf(app.serviceManager.serverSettings.baseUrl),
      notebook => openNotebookOf(tracker, notebook, records) !== null
    );
    const tellOnce: Tell = (notebooks, tell) => windows.tell(notebooks, tell);
    const problemInView = (cluster: Cluster): boolean =>
      !document.hidden &&
      ((!!panelIn(app.shell)?.isVisible &&
        selection.cluster?.id === cluster.id) ||
        cellInView(tracker, cluster, records));
    // before that nothing is visible yet, and everything would be notified again after a reload
    void app.restored.then(() =>
      announceProblems(model, preferences, trans, problemInView, tellOnce)
    );
    announceLimit(model, trans);
    announceCells(
      { model, preferences, actions, records, trans, tellOnce },
      notebook => notebookInView(tracker, notebook, records)
    );
  }
};
