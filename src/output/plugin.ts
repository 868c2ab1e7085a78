import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { Cell, CodeCell } from '@jupyterlab/cells';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { PathExt } from '@jupyterlab/coreutils';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { ILiveState } from '../tokens';
import { IFailureActions } from './failure';
import { labPath } from '../locations/location';
import { serverRoot } from '../locations/kernelPath';
import { IOpener, openLocation } from '../locations/open';
import { requestOf } from './runs/notebookDocument';
import { addCellStates } from './runs/olderCells';
import { CellRecords } from './runs/cellRecords';
import { NotebookRuns } from './runs/notebookRuns';
import { importedPath } from './lines/traceback';

/** Output of distributed cells: bar, choice of rank, folded lines, progress, failures. */
export const outputPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:output',
  description: 'Shows the output of distributed cells by rank.',
  autoStart: true,
  requires: [ILiveState, INotebookTracker],
  optional: [ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: ILiveState,
    tracker: INotebookTracker,
    translator: ITranslator | null
  ): void => {
    addCellStates();
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const known = new WeakSet<Cell>();
    const { commands, serviceManager } = app;
    const records = new CellRecords(model, serviceManager.serverSettings);
    const dress = async (
      panel: NotebookPanel,
      runs: NotebookRuns
    ): Promise<void> => {
      const { CellOutputView } = await import('./cellView');
      for (const cell of panel.content.widgets) {
        if (cell instanceof CodeCell && !known.has(cell)) {
          known.add(cell);
          // a cell that was never in view has no parts yet
          void cell.ready.then(() => {
            if (!cell.isDisposed) {
              new CellOutputView(cell, {
                clusters: model,
                runs,
                commands,
                trans,
                goTo: (label, line, own) => goTo(panel, label, line, own),
                file: path => fileOf(path, panel, { commands, tracker, trans })
              });
            }
          });
        }
      }
    };
    tracker.widgetAdded.connect((__, panel) => {
      const runs = new NotebookRuns(panel, records, serviceManager, cell =>
        isLiveElsewhere(cell, panel, tracker)
      );
      const change = (): void => void dress(panel, runs);
      void panel.context.ready.then(change);
      panel.content.modelContentChanged.connect(change);
      panel.content.cellInViewportChanged.connect(change);
    });
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

/** Show a line of the cell with this name. */
function goTo(
  panel: NotebookPanel,
  label: string,
  line: number,
  own: CodeCell | null
): void {
  const number = Number(label.replace(/\D/g, ''));
  const cells = panel.content.widgets;
  const index = own
    ? cells.indexOf(own)
    : cells.findIndex(
        cell => cell instanceof CodeCell && cell.model.executionCount === number
      );
  if (index >= 0) {
    panel.content.activeCellIndex = index;
    const cell = panel.content.widgets[index];
    void panel.content.scrollToCell(cell).then(() => {
      panel.content.mode = 'edit';
      cell.editor?.setCursorPosition({ line: line - 1, column: 0 });
    });
  }
}

/** The name of a traceback's file in this notebook, and a function to open it. */
function fileOf(
  path: string,
  panel: NotebookPanel,
  opener: IOpener
): ReturnType<IFailureActions['file']> {
  // paths relative to a rank's folder can't be resolved here
  const known = path.startsWith('/') ? labPath(path, serverRoot()) : null;
  if (known === null) {
    return { name: importedPath(path), open: null };
  }
  const folder = PathExt.dirname(panel.context.localPath);
  const near = folder ? PathExt.relative(folder, known) : known;
  return {
    name: near.startsWith('..') ? known : near,
    open: line => void openLocation({ file: known, line }, opener)
  };
}
