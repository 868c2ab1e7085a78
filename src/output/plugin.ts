import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { Cell, CodeCell } from '@jupyterlab/cells';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { attachedTo } from '../cluster/attached';
import { IClusters } from '../tokens';

/** Output of distributed cells: the bar, the choice of rank, folded lines, progress, failures. */
export const outputPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:output',
  description: 'Shows the output of distributed cells by rank.',
  autoStart: true,
  requires: [IClusters, INotebookTracker],
  optional: [ITranslator],
  activate: (
    _: JupyterFrontEnd,
    model: IClusters,
    tracker: INotebookTracker,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const known = new WeakSet<Cell>();
    const dress = async (panel: NotebookPanel): Promise<void> => {
      const { CellOutputView } = await import('./cell');
      for (const cell of panel.content.widgets) {
        if (cell instanceof CodeCell && !known.has(cell)) {
          known.add(cell);
          // a cell that was never in view has no parts yet
          void cell.ready.then(() => {
            if (!cell.isDisposed) {
              new CellOutputView(
                cell,
                trans,
                () => attachedTo(model.clusters, panel.context.path),
                (label, line) => goTo(panel, label, line)
              );
            }
          });
        }
      }
    };
    tracker.widgetAdded.connect((__, panel) => {
      const change = (): void => void dress(panel);
      void panel.context.ready.then(change);
      panel.content.modelContentChanged.connect(change);
      panel.content.cellInViewportChanged.connect(change);
    });
  }
};

/** Show a line of the cell with this number. */
function goTo(panel: NotebookPanel, label: string, line: number): void {
  const number = Number(label.replace(/\D/g, ''));
  const index = panel.content.widgets.findIndex(
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
