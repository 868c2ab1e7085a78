import { CodeCell } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';
import { ServiceManager } from '@jupyterlab/services';
import { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

import { RequestError } from '../../request/rest';
import {
  isDistributed,
  isDropped,
  notebookOf,
  put,
  requestOf,
  write
} from './notebookDocument';
import { JournalOutputs } from './journalOutputs';
import { KernelRestarts } from './kernelRestarts';
import { SummaryPart } from './outcome';
import { IReading, readJournal } from './readJournal';
import { CellRecords } from './cellRecords';
import { IClusterRecord, INotebook, IRun, isOver } from './storedRun';
import { misses, numberOf, readRun, RUN_KEY } from './storedRun';
import { CellWatch } from './cellEvents';
import { ISharedNotebook, Writers } from './writer';

/**
 * The runs of a notebook's cells: their state, and restoring of missed output.
 *
 * Cells run on ranks even without a page or a kernel to display their output, which is in the head's journal.
 * So the saved output of a run is replaced by the complete one, and a running cell is followed.
 */
export class NotebookRuns implements IDisposable {
  constructor(
    private _panel: NotebookPanel,
    private _records: CellRecords,
    private _services: ServiceManager.IManager,
    private _isLiveElsewhere: (cell: CodeCell) => boolean = () => false
  ) {
    const { model } = _panel.context;
    this._writers = new Writers(
      this.isShared ? (model.sharedModel as ISharedNotebook) : null,
      () => void this._sync()
    );
    this._watch = new CellWatch({
      asked: request => this._writers.claim(request),
      moved: () => this._records.refresh(),
      released: request => this._writers.release(request),
      isForeign: () => this._writers.isForeign,
      isLive: cell => this.isLive(cell) || this._isLiveElsewhere(cell),
      isWriting: () => this._writing,
      messages: _panel.sessionContext.iopubMessage
    });
    this._restarts = new KernelRestarts(_panel);
    _records.changed.connect(this._sync, this);
    _panel.content.modelContentChanged.connect(this._sync, this);
    _panel.sessionContext.kernelChanged.connect(this._sync, this);
    _panel.disposed.connect(() => this.dispose());
    void this._sync();
  }

  /** Emitted when a cell's state has changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this._writers.dispose();
      this._restarts.dispose();
      this._records.want(this, false);
      this._records.changed.disconnect(this._sync, this);
      Signal.clearData(this);
    }
  }

  /** The run that a cell shows, if its cluster still knows it. */
  recordOf(cell: CodeCell): IClusterRecord | null {
    const asked = requestOf(cell);
    if (asked) {
      return this._records.byRequest(asked);
    }
    const found = this._records.find(this._notebook(), cell.model.id);
    const run = this.run(cell);
    const known = run?.run === found?.record.id;
    // the page that runs the cell may not have stored the run in the notebook yet
    const shown = known
      ? !run?.cleared
      : this._writers.isClaimed(found?.record.request ?? null);
    return shown ? found : null;
  }

  /** The run that a cell shows, as stored in the notebook. */
  run(cell: CodeCell): IRun | null {
    return readRun(cell.model.getMetadata(RUN_KEY));
  }

  /** Who has stopped the cluster of a cell that this page has run; undefined if nobody has. */
  stopOf(cell: CodeCell): SummaryPart['values'] | undefined {
    return this._watch.stopOf(cell);
  }

  /** Whether no cluster knows the run that a cell shows: the one that did has ended. */
  isUnknown(cell: CodeCell): boolean {
    const run = this.run(cell);
    const shown = !!run && !run.cleared && !this.isLive(cell);
    return shown && this._records.isRead && !this.recordOf(cell);
  }

  /** Whether the stored run of a cell has no end, and no cluster has a record of it. */
  hasNoEnd(cell: CodeCell): boolean {
    const run = this.run(cell);
    return !!run && !isOver(run.state) && this.isUnknown(cell);
  }

  /** Whether this notebook is a copy, and the run that the cell shows is the original's. */
  isCopied(cell: CodeCell): boolean {
    const run = this.run(cell);
    return !!run && !this.recordOf(cell) && this._records.knows(run.run);
  }

  /** Whether this page's kernel runs the cell, or is about to. */
  isLive(cell: CodeCell): boolean {
    return requestOf(cell) !== null;
  }

  /** Whether other people may have the notebook open, and see this page's changes at once. */
  get isShared(): boolean {
    return !!this._panel.context.model.collaborative;
  }

  /** Whether this page omits the middle of the cell's output. */
  trims(cell: CodeCell): boolean {
    if (!this.isShared || this.isLive(cell)) {
      return true;
    }
    const { id, executionCount, executionState } = cell.model;
    const record = this._records.find(this._notebook(), id)?.record;
    // the cell's state may be older than a run by another page
    return (
      executionState !== 'running' &&
      (!record || numberOf(record) === executionCount) &&
      this._writers.writes(record?.id ?? id, record?.request ?? null)
    );
  }

  /** Request records at once, because Interrupt was pressed or a cell has started. */
  refresh(): void {
    this._records.refresh();
  }

  /** The complete output of a run. */
  async all(found: IClusterRecord): Promise<JournalOutputs> {
    const journal = new JournalOutputs().withoutOmissions();
    const { record, cluster } = found;
    const after = record.first_seq - 1;
    await readJournal(
      { journal, after },
      record,
      cluster.id,
      this._services.serverSettings
    );
    return journal;
  }

  private async _sync(): Promise<void> {
    const { content, context } = this._panel;
    if (this._isDisposed) {
      return;
    }
    if (!context.isReady) {
      void context.ready.then(() => this._sync());
      return;
    }
    let waits = false;
    for (const cell of content.widgets) {
      if (!(cell instanceof CodeCell)) {
        continue;
      }
      this._watch.watch(cell);
      if (this.isLive(cell)) {
        const found = this.recordOf(cell);
        const known = found && this._restarts.runOf(cell, found.record);
        // its end is stored once the kernel has sent all output
        if (known && !isOver(known.state)) {
          write(cell, known);
        }
        waits = waits || isDistributed(cell) || !!known;
        continue;
      }
      if (this._isLiveElsewhere(cell)) {
        continue; // the other view's future updates the shared outputs
      }
      const found = this._records.find(this._notebook(), cell.model.id);
      if (!found) {
        this._watch.endUnrecorded(cell);
        continue;
      }
      const { record } = found;
      if (!this._writers.writes(record.id, record.request)) {
        waits =
          waits ||
          record.state !== 'ended' ||
          this._writers.isUnsure(record.id);
        continue;
      }
      const run = this.run(cell);
      const { executionCount } = cell.model;
      const asked = this._watch.asked(cell);
      const dropped = !this._mended.has(record.id) && isDropped(cell);
      if (misses(record, run, executionCount, asked, dropped)) {
        if (dropped) {
          this._mended.add(record.id);
        }
        waits = waits || record.state !== 'ended';
        void this._follow(cell, found);
      } else if (run?.run !== record.id || !run.cleared) {
        // a cell started with --no-wait, or one whose end the page received before the head's record
        waits = waits || record.state !== 'ended';
        write(cell, this._restarts.runOf(cell, record));
      }
    }
    this._records.want(this, waits);
    this._changed.emit();
  }

  /** Restore the output of a run so far. */
  private async _follow(cell: CodeCell, found: IClusterRecord): Promise<void> {
    const { record, cluster } = found;
    let known = this._followed.get(cell);
    if (known?.busy) {
      return;
    }
    if (known?.run !== record.id) {
      const journal = new JournalOutputs();
      known = { run: record.id, journal, after: record.first_seq - 1 };
      this._followed.set(cell, known);
    }
    known.busy = true;
    try {
      await readJournal(
        known,
        record,
        cluster.id,
        this._services.serverSettings
      );
    } catch (error) {
      if (!(error instanceof RequestError)) {
        throw error;
      }
      // the cluster has ended, or the server can't be reached: leave the cell until the next records arrive
      return;
    } finally {
      known.busy = false;
    }
    if (cell.isDisposed || this._isDisposed || this.isLive(cell)) {
      return;
    }
    this._writing = true;
    try {
      put(cell, known.journal.outputs(record));
      if (record.state === 'ended') {
        cell.model.executionCount = numberOf(record);
        cell.model.executionState = 'idle';
        this._followed.delete(cell);
      } else {
        cell.model.executionCount = null;
        cell.model.executionState = 'running';
      }
      write(cell, this._restarts.runOf(cell, record));
    } finally {
      this._writing = false;
    }
    this._changed.emit();
  }

  private _notebook(): INotebook {
    return notebookOf(this._panel, this._services.sessions);
  }

  private _changed = new Signal<this, void>(this);
  private _followed = new WeakMap<
    CodeCell,
    IReading & { run: string; busy?: boolean }
  >();
  private _isDisposed = false;
  /** Runs with output that the server had dropped, and that was restored. */
  private _mended = new Set<string>();
  private _restarts: KernelRestarts;
  private _watch: CellWatch;
  private _writers: Writers;
  /** Whether this class is changing outputs now. */
  private _writing = false;
}
