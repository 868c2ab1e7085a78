import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { CodeCell } from '@jupyterlab/cells';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { PathExt } from '@jupyterlab/coreutils';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { IDisposable } from '@lumino/disposable';

import { addCellStates, hasPlaces } from '../jupyterlab/cells';
import { reporter } from '../jupyterlab/names';
import { IKernelRecords, ILiveState } from '../tokens';
import { forCellsOfRanks } from './cellViews';
import { IFailureActions } from './failure';
import { labPath } from '../locations/location';
import { serverRoot } from '../locations/serverRoot';
import { goToCell, indexIn, IOpener, openLocation } from '../locations/open';
import { requestOf } from './runs/notebookDocument';
import { CellRecords } from './runs/cellRecords';
import { widgetKernelsOf } from './displays/widgetKernels';
import { NotebookRuns } from './runs/notebookRuns';
import { importedPath } from './lines/traceback';
import { awaitedStart } from './startText';

/** What is removed from JupyterLab when the plugin is deactivated. */
let added: IDisposable | null = null;

/** Output of distributed cells: bar, choice of rank, folded lines, progress, failures. */
export const outputPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:output',
  description: 'Shows the output of distributed cells by rank.',
  autoStart: true,
  requires: [ILiveState, IKernelRecords, INotebookTracker],
  optional: [ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: ILiveState,
    names: IKernelRecords,
    tracker: INotebookTracker,
    translator: ITranslator | null
  ): void => {
    added = addCellStates();
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const report = reporter(trans);
    const { commands, serviceManager } = app;
    const records = new CellRecords(model, serviceManager.serverSettings);
    const dress = async (
      cell: CodeCell,
      panel: NotebookPanel,
      runs: NotebookRuns
    ): Promise<void> => {
      const { CellOutputView } = await import('./cellView');
      if (!cell.isDisposed && hasPlaces(cell, report)) {
        new CellOutputView(cell, {
          clusters: model,
          names,
          awaitedStart: named =>
            awaitedStart(
              model,
              names.kernelPath(panel),
              names.lastCluster(panel),
              named
            ),
          widgetKernels: widgetKernelsOf(panel.sessionContext),
          runs,
          commands,
          trans,
          goTo: (label, line, own) => goToLine(panel, label, line, own),
          file: path =>
            fileOf(path, panel, { commands, tracker, records: names, trans })
        });
      }
    };
    tracker.widgetAdded.connect((__, panel) => {
      const runs = new NotebookRuns(panel, records, serviceManager, cell =>
        isLiveElsewhere(cell, panel, tracker)
      );
      void forCellsOfRanks(panel, cell => void dress(cell, panel, runs));
    });
  },
  deactivate: (): void => {
    added?.dispose();
    added = null;
  }
};

/** Whether another view of the same notebook runs the cell. */
function isLiveElsewhere(
  cell: CodeCell,
  panel: NotebookPanel,
  tracker: INotebookTracker
): boolean {
  const other = tracker.find(
    p =>
      p !== panel &&
      p.context === panel.context &&
      p.content.widgets.some(
        w =>
          w instanceof CodeCell &&
          w.model.id === cell.model.id &&
          requestOf(w) !== null
      )
  );
  return !!other;
}

/** Show a line of the cell with this name, or of the given one. */
function goToLine(
  panel: NotebookPanel,
  label: string,
  line: number,
  own: CodeCell | null
): void {
  const index = own
    ? panel.content.widgets.indexOf(own)
    : indexIn(panel, { cell: label });
  // the reader is in this notebook: it scrolls no further than it has to
  void goToCell(panel, index, line, 'auto');
}

/** The name of a traceback's file in this notebook, and a function to open it. */
function fileOf(
  path: string,
  panel: NotebookPanel,
  opener: IOpener
): ReturnType<IFailureActions['file']> {
  // paths relative to a rank's folder can't be resolved here
  const inRoot = path.startsWith('/') ? labPath(path, serverRoot()) : null;
  if (inRoot === null) {
    return { name: importedPath(path), open: null };
  }
  const folder = PathExt.dirname(panel.context.localPath);
  const near = folder ? PathExt.relative(folder, inRoot) : inRoot;
  return {
    name: near.startsWith('..') ? inRoot : near,
    open: line => void openLocation({ file: inRoot, line }, opener)
  };
}
