import { CodeCell } from '@jupyterlab/cells';
import { ServerConnection } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';

import { RequestError } from '../../request/rest';
import { JournalOutputs } from './journalOutputs';
import { KernelRestarts } from './kernelRestarts';
import { put, write } from './notebookDocument';
import { IReading, readJournal } from './readJournal';
import {
  endedRanks,
  IClusterRecord,
  numberOf,
  readRun,
  RUN_KEY,
  shownAfter
} from './storedRun';

/** A run whose output is restored as it arrives. */
interface IFollowed extends IReading {
  run: string;
  journal: JournalOutputs;
}

/** Puts the output of runs, which is in the journal of their cluster, into the notebook. */
export class OutputRestorer {
  /** Emitted with a cell whose output was restored so far. */
  readonly restored = new Signal<this, CodeCell>(this);

  /**
   * @param _mayWrite - whether a cell's output is still to be restored, after it was read
   */
  constructor(
    private _settings: ServerConnection.ISettings,
    private _restarts: KernelRestarts,
    private _mayWrite: (cell: CodeCell) => boolean
  ) {}

  /** Whether a notebook is being changed now. */
  get isWriting(): boolean {
    return this._isWriting;
  }

  /**
   * Restore the output of a run so far. Its end is restored afterwards if it arrives while the journal is being read:
   * nobody asks again then. Other records that arrive meanwhile are followed by later ones.
   */
  async restore(cell: CodeCell, found: IClusterRecord): Promise<void> {
    if (!this._busy.has(cell) || found.record.state === 'ended') {
      this._next.set(cell, found);
    }
    if (this._busy.has(cell)) {
      return;
    }
    this._busy.add(cell);
    try {
      for (;;) {
        const next = this._next.get(cell);
        if (!next) {
          return;
        }
        this._next.delete(cell);
        await this._restore(cell, next);
      }
    } finally {
      this._busy.delete(cell);
    }
  }

  /**
   * The user has cleared the output so far of a run that goes on.
   *
   * @returns the number of the last journal entry of that output; null if the journal can't be read.
   */
  async clear(cell: CodeCell, found: IClusterRecord): Promise<number | null> {
    const { record, cluster } = found;
    const known = this._followed.get(cell);
    if (known?.run === record.id) {
      this._followed.set(cell, { ...known, journal: new JournalOutputs() });
      return known.after;
    }
    const after = shownAfter(record, readRun(cell.model.getMetadata(RUN_KEY)));
    const reading = { journal: { add: () => undefined }, after };
    try {
      await readJournal(reading, record, cluster.id, this._settings);
    } catch (error) {
      if (!(error instanceof RequestError)) {
        throw error;
      }
      return null;
    }
    return reading.after;
  }

  private async _restore(cell: CodeCell, found: IClusterRecord): Promise<void> {
    const { record, cluster } = found;
    let known = this._followed.get(cell);
    if (known?.run !== record.id) {
      const journal = new JournalOutputs();
      const before = readRun(cell.model.getMetadata(RUN_KEY));
      known = { run: record.id, journal, after: shownAfter(record, before) };
      this._followed.set(cell, known);
    }
    try {
      await readJournal(known, record, cluster.id, this._settings);
    } catch (error) {
      if (!(error instanceof RequestError)) {
        throw error;
      }
      // the cluster has ended, or the server can't be reached: leave the cell until the next records arrive
      return;
    }
    if (!this._mayWrite(cell)) {
      return;
    }
    if (this._followed.get(cell) !== known) {
      return this._restore(cell, found); // cleared meanwhile
    }
    const run = this._restarts.runOf(cell, found);
    // a new kernel knows no widget of its predecessor
    const gone = run.restarted
      ? new Set(record.ranks)
      : endedRanks(found, record.ranks, false);
    this._isWriting = true;
    try {
      // as JupyterLab does for a cell that a page runs: else, widgets and HTML of ranks are not drawn
      cell.model.trusted = true;
      put(cell, known.journal.outputs(record, gone));
      if (record.state === 'ended') {
        cell.model.executionCount = numberOf(record);
        cell.model.executionState = 'idle';
        this._followed.delete(cell);
      } else {
        cell.model.executionCount = null;
        cell.model.executionState = 'running';
      }
      write(cell, run);
    } finally {
      this._isWriting = false;
    }
    this.restored.emit(cell);
  }

  /** Cells whose journal is being read. */
  private _busy = new WeakSet<CodeCell>();
  private _followed = new WeakMap<CodeCell, IFollowed>();
  private _isWriting = false;
  /** Cell → the record with which it is to be restored next. */
  private _next = new WeakMap<CodeCell, IClusterRecord>();
}
