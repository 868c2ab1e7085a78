import { Cell, CodeCell, ICellModel } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';
import { Signal } from '@lumino/signaling';

import { onRestart } from '../../jupyterlab/kernelRestarts';
import {
  IClusterRecord,
  IRun,
  isOver,
  readRun,
  RUN_KEY,
  runOf
} from './storedRun';

/** The parts of an open notebook that are needed. */
interface IPanel {
  content: { widgets: readonly Cell[] };
  sessionContext: Pick<NotebookPanel['sessionContext'], 'statusChanged'>;
}

/** Runs that were under way when somebody restarted the notebook's kernel, which has interrupted them. */
export class KernelRestarts {
  constructor({ content, sessionContext }: IPanel) {
    const restarted = onRestart(died => {
      if (died) {
        return; // nothing was interrupted: the ranks run the cell to its end
      }
      for (const cell of content.widgets) {
        const run = cell instanceof CodeCell ? stored(cell) : null;
        if (run && !isOver(run.state)) {
          this._runs.add(run.run);
        }
      }
    });
    sessionContext.statusChanged.connect(restarted, this);
  }

  dispose(): void {
    Signal.disconnectReceiver(this);
  }

  /** A cell's record in the form stored in the notebook, with what only the pages that were there know. */
  runOf(
    cell: { model: ICellModel },
    { record, cluster }: IClusterRecord
  ): IRun {
    const before = stored(cell);
    const noted = before?.run === record.id && before.restarted;
    const known = runOf(record);
    // if the cluster ends before it, how is known by the cluster's id
    const run = isOver(known.state) ? known : { ...known, cluster: cluster.id };
    // no kernel waits for a detached cell: it goes on
    return !record.detached && (noted || this._runs.has(record.id))
      ? { ...run, restarted: true }
      : run;
  }

  private _runs = new Set<string>();
}

function stored(cell: { model: ICellModel }): IRun | null {
  return readRun(cell.model.getMetadata(RUN_KEY));
}
