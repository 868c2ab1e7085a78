import { Cell, CodeCell, ICellModel } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';
import { Signal } from '@lumino/signaling';

import { Store } from '../../cluster/model/ignoredVerdicts';
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

/** Storage key of the runs that a restart has interrupted. */
const KEY = 'dtrain-lab:restarted';
/** Maximum number of runs in the storage: a notebook that is saved has them itself. */
const MOST = 50;

/** Runs that were under way when somebody restarted the notebook's kernel, which has interrupted them. */
export class KernelRestarts {
  /**
   * @param _store - storage of this browser, for a page that is reloaded before its notebook is saved; null for none.
   */
  constructor(
    { content, sessionContext }: IPanel,
    private _store: Store | null = null
  ) {
    this._runs = new Set(this._load());
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
      this._save();
    });
    sessionContext.statusChanged.connect(restarted, this);
  }

  dispose(): void {
    Signal.disconnectReceiver(this);
  }

  /** A cell's record in the form stored in the notebook, with what only the notebook and the pages that were there know. */
  runOf(
    cell: { model: ICellModel },
    { record, cluster }: IClusterRecord
  ): IRun {
    const before = stored(cell);
    const same = before?.run === record.id ? before : null;
    const noted = same?.restarted;
    const after = same?.after;
    const known = { ...runOf(record), ...(after !== undefined && { after }) };
    // if the cluster ends before it, how is known by the cluster's id
    const run = isOver(known.state) ? known : { ...known, cluster: cluster.id };
    // no kernel waits for a detached cell: it goes on
    return !record.detached && (noted || this._runs.has(record.id))
      ? { ...run, restarted: true }
      : run;
  }

  private _load(): string[] {
    try {
      const kept: unknown = JSON.parse(this._store?.getItem(KEY) ?? '[]');
      return Array.isArray(kept) ? kept.map(String) : [];
    } catch {
      return []; // written by another version, or the storage is blocked
    }
  }

  private _save(): void {
    const runs = [...new Set([...this._load(), ...this._runs])].slice(-MOST);
    try {
      this._store?.setItem(KEY, JSON.stringify(runs));
    } catch {
      // the storage is full: a reloaded page says only that they were interrupted
    }
  }

  private _runs: Set<string>;
}

function stored(cell: { model: ICellModel }): IRun | null {
  return readRun(cell.model.getMetadata(RUN_KEY));
}
