import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { Cell, CodeCell } from '@jupyterlab/cells';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { Poll } from '@lumino/polling';

import { attachedTo } from '../cluster/attached';
import { Cluster, IClusters } from '../tokens';
import { replay } from './replay';

/** Output of distributed cells: the bar, the choice of rank, folded lines, progress, failures. */
export const outputPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:output',
  description: 'Shows the output of distributed cells by rank.',
  autoStart: true,
  requires: [IClusters, INotebookTracker],
  optional: [ITranslator],
  activate: (
    app: JupyterFrontEnd,
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
      void panel.context.ready.then(() => catchUp(panel, model, app));
    });
  }
};

/** How often a cell that runs without this page is read again, ms. */
const AGAIN = 2000;

/** Once the notebook's cluster is known, put back what the page has missed. */
function catchUp(
  panel: NotebookPanel,
  model: IClusters,
  app: JupyterFrontEnd
): void {
  const { serverSettings } = app.serviceManager;
  let cluster: Cluster | null = null;
  const poll = new Poll({
    auto: false,
    name: 'dtrain-lab:replay',
    factory: async () => {
      if (!cluster || !(await replay(panel, cluster, serverSettings))) {
        void poll.stop();
      }
    },
    frequency: { interval: AGAIN, backoff: true, max: 30_000 },
    standby: 'when-hidden'
  });
  const look = (): void => {
    cluster = attachedTo(model.clusters, panel.context.path);
    if (cluster) {
      model.changed.disconnect(look);
      void poll.start();
    }
  };
  model.changed.connect(look);
  panel.disposed.connect(() => {
    model.changed.disconnect(look);
    poll.dispose();
  });
  look();
}

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
