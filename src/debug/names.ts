import { ISessionContext } from '@jupyterlab/apputils';
import { CodeCell } from '@jupyterlab/cells';
import { IDebugger } from '@jupyterlab/debugger';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { KernelMessage } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';

import { cellName } from '../cluster/places';
import { isDistributed } from '../output/document';
import { Cluster, IClusters } from '../tokens';
import { isCell } from './words';

/** What is read of a notebook's cell to name it. */
export interface INamedCell {
  id: string;
  /** The execution count; null before it has ended. */
  count: number | null;
  runs: boolean;
  /** The number that its kernel gave it as it began, where this page heard it. */
  begun?: number;
  /** Where it stands, from 1, and among how many. */
  position: number;
  of: number;
}

/**
 * The name of a distributed cell, the same as everywhere: "cell [7]".
 *
 * One that runs has the number it will get, as its kernel or its cluster says. One that has not run has none, so it is
 * named by where it stands, as JupyterLab's status bar does: "cell 3/12".
 *
 * @param cell - the cell.
 * @param clusters - who may run it.
 */
export function nameOf(
  cell: INamedCell,
  clusters: readonly Pick<Cluster, 'running'>[],
  trans: TranslationBundle
): string {
  if (cell.runs && cell.begun !== undefined) {
    return cellName(`[${cell.begun}]`, trans);
  }
  if (cell.runs) {
    for (const cluster of clusters) {
      const its = cluster.running.find(one => one.cell_id === cell.id);
      if (its) {
        return cellName(its.cell, trans);
      }
    }
  } else if (cell.count !== null) {
    return cellName(`[${cell.count}]`, trans);
  }
  return trans.__('cell %1/%2', cell.position, cell.of);
}

/** Names of distributed cells in JupyterLab's own lists of frames and breakpoints. */
export class CellNames {
  constructor(
    private _debug: IDebugger,
    private _tracker: INotebookTracker,
    private _clusters: IClusters,
    private _trans: TranslationBundle
  ) {
    const listen = ({ sessionContext }: NotebookPanel): void => {
      sessionContext.iopubMessage.connect(this._heard, this);
    };
    _tracker.forEach(listen);
    _tracker.widgetAdded.connect((_, panel) => listen(panel));
  }

  /** A cell begins: its kernel tells its text and its number, before any rank can stop in it. */
  private _heard(_: ISessionContext, message: KernelMessage.IMessage): void {
    const input = message as KernelMessage.IIOPubMessage;
    if (KernelMessage.isExecuteInputMsg(input)) {
      const { code, execution_count } = input.content;
      this._begun.set(code, Number(execution_count));
    }
  }

  private _begun = new Map<string, number>();

  canHandle(source: IDebugger.Source): boolean {
    return isCell(source.path ?? '');
  }

  /** The name of the cell whose text this is; its path where it is not a distributed cell, or not open. */
  getDisplayName(source: IDebugger.Source): string {
    const path = source.path ?? '';
    let name = path;
    this._tracker.forEach(panel => {
      const { widgets } = panel.content;
      widgets.forEach((cell, index) => {
        if (!(cell instanceof CodeCell) || !isDistributed(cell)) {
          return;
        }
        const { model } = cell;
        const text = model.sharedModel.getSource();
        if (this._debug.getCodeId(text) === path) {
          const named = {
            id: model.id,
            count: model.executionCount,
            runs: model.executionState === 'running',
            begun: this._begun.get(text),
            position: index + 1,
            of: widgets.length
          };
          name = nameOf(named, this._clusters.clusters, this._trans);
        }
      });
    });
    return name;
  }
}
