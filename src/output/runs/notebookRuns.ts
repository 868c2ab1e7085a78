import { CodeCell } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';
import { ServiceManager } from '@jupyterlab/services';
import { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

import { storage } from '../../cluster/model/ignoredVerdicts';
import {
  isDistributed,
  isDropped,
  isUnderway,
  notebookOf,
  requestOf,
  write
} from './notebookDocument';
import { JournalOutputs } from './journalOutputs';
import { ExecutedRequests } from './kernelReports';
import { KernelRestarts } from './kernelRestarts';
import { SummaryPart } from './outcome';
import { OutputRestorer } from './outputRestorer';
import { readJournal } from './readJournal';
import { CellRecords } from './cellRecords';
import { IClusterRecord, INotebook, IRun, isOver } from './storedRun';
import { misses, numberOf, readRun, RUN_KEY, shownAfter } from './storedRun';
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
      () => this._syncAll()
    );
    this._watch = new CellWatch({
      asked: request => this._writers.claim(request),
      cleared: cell => void this._cleared(cell),
      moved: () => this._records.refresh(),
      changed: cell => this._cellChanged(cell),
      released: request => this._writers.release(request),
      isForeign: () => this._writers.isForeign,
      isCut: () => _records.isCut,
      isLive: cell => this.isLive(cell) || this._isLiveElsewhere(cell),
      isWriting: () => this._restorer.isWriting,
      messages: _panel.sessionContext.iopubMessage
    });
    this._executed = new ExecutedRequests(
      _panel.sessionContext.iopubMessage,
      request => this._begun(request)
    );
    this._restarts = new KernelRestarts(_panel, storage());
    this._restorer = new OutputRestorer(
      _services.serverSettings,
      this._restarts,
      cell =>
        !cell.isDisposed &&
        !this._isDisposed &&
        !this.isLive(cell) &&
        !isUnderway(cell)
    );
    this._restorer.restored.connect((_, cell) => this._changed.emit(cell));
    _records.changed.connect(this._syncAll, this);
    _panel.sessionContext.kernelChanged.connect(this._syncAll, this);
    _panel.disposed.connect(() => this.dispose());
    void _panel.context.ready.then(() => {
      if (!this._isDisposed) {
        this._isReady = true;
        // the notebook adds widgets for new cells before this is called
        _panel.context.model.cells.changed.connect(this._syncAll, this);
        this._syncAll();
      }
    });
  }

  /** Emitted when the state of a cell has changed; null: of any cell. A cell's own model is not reported here. */
  get changed(): ISignal<this, CodeCell | null> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this._watch.dispose();
      this._executed.dispose();
      this._writers.dispose();
      this._restarts.dispose();
      this._records.want(this, false);
      Signal.disconnectReceiver(this);
      Signal.clearData(this);
    }
  }

  /** The run that a cell shows, if its cluster still knows it. */
  recordOf(cell: CodeCell): IClusterRecord | null {
    const asked = requestOf(cell);
    if (asked) {
      return this._records.byRequest(asked);
    }
    const recorded = this._records.find(this._notebook(), cell.model.id);
    const run = this.run(cell);
    const isSame = run?.run === recorded?.record.id;
    // the page that runs the cell may not have stored the run in the notebook yet
    const shown = isSame
      ? !run?.cleared
      : this._writers.isClaimed(recorded?.record.request ?? null);
    return shown ? recorded : null;
  }

  /** The run that a cell shows, as stored in the notebook. */
  run(cell: CodeCell): IRun | null {
    return readRun(cell.model.getMetadata(RUN_KEY));
  }

  /** The run that this page's kernel executes, as its cluster recorded it last; null if it has not. */
  seenRun(cell: CodeCell): IRun | null {
    const seen = this._seen.get(cell);
    return seen && seen.request === requestOf(cell) ? seen.run : null;
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

  /** Whether this page's kernel executes the cell, which is not queued behind other cells there any more. */
  isExecuting(cell: CodeCell): boolean {
    return this._executed.has(requestOf(cell));
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

  /** The complete output of a cell's run, but for what the user has cleared while it ran. */
  async all(cell: CodeCell, found: IClusterRecord): Promise<JournalOutputs> {
    const journal = new JournalOutputs().withoutOmissions();
    const { record, cluster } = found;
    const after = shownAfter(record, this.run(cell));
    await readJournal(
      { journal, after },
      record,
      cluster.id,
      this._services.serverSettings
    );
    return journal;
  }

  /** A cell of this page has changed, not by this class. */
  private _cellChanged(cell: CodeCell): void {
    if (!this._isDisposed && !this._restorer.isWriting && !cell.isDisposed) {
      this._sync(cell, this._notebook());
      this._records.want(this, this._waiting.size > 0);
    }
  }

  /** The user has cleared the output so far of a run that goes on: only what comes afterwards is restored. */
  private async _cleared(cell: CodeCell): Promise<void> {
    const found = this.recordOf(cell);
    if (!found) {
      const run = this.run(cell);
      if (run && !this.isLive(cell)) {
        write(cell, { ...run, cleared: true });
      }
      return;
    }
    const after = await this._restorer.clear(cell, found);
    if (after !== null && !cell.isDisposed && !this._isDisposed) {
      const run = this.run(cell);
      const same = run?.run === found.record.id ? run : null;
      write(cell, { ...(same ?? this._restarts.runOf(cell, found)), after });
    }
  }

  /** The kernel executes a request now. */
  private _begun(request: string): void {
    const cell = this._panel.content.widgets.find(
      w => w instanceof CodeCell && requestOf(w) === request
    );
    if (cell instanceof CodeCell) {
      this._changed.emit(cell);
    }
  }

  /** Records, the kernel, or the list of cells have changed. */
  private _syncAll(): void {
    if (this._isDisposed || !this._isReady) {
      return;
    }
    const notebook = this._notebook();
    this._waiting.clear();
    for (const cell of this._panel.content.widgets) {
      if (cell instanceof CodeCell) {
        this._watch.watch(cell);
        this._sync(cell, notebook);
      }
    }
    this._records.want(this, this._waiting.size > 0);
    this._changed.emit(null);
  }

  /** Store what is known of a cell's run, and note whether its outcome is still awaited. */
  private _sync(cell: CodeCell, notebook: INotebook): void {
    if (this._update(cell, notebook)) {
      this._waiting.add(cell);
    } else {
      this._waiting.delete(cell);
    }
  }

  /**
   * Store what is known of a cell's run.
   *
   * @returns whether more is to be known
   */
  private _update(cell: CodeCell, notebook: INotebook): boolean {
    if (this.isLive(cell)) {
      const found = this.recordOf(cell);
      const known = found && this._restarts.runOf(cell, found);
      if (known) {
        this._seen.set(cell, { request: requestOf(cell), run: known });
      }
      // its end is stored once the kernel has sent all output
      if (known && !isOver(known.state)) {
        write(cell, known);
      }
      return isDistributed(cell) || !!known;
    }
    if (this._isLiveElsewhere(cell)) {
      return false; // the other view's future updates the shared outputs
    }
    const found = this._records.find(notebook, cell.model.id);
    if (!found) {
      this._watch.endUnrecorded(cell, this._records);
      return false;
    }
    const { record } = found;
    const hasEnded = record.state === 'ended';
    if (!this._writers.writes(record.id, record.request)) {
      return !hasEnded || this._writers.isUnsure(record.id);
    }
    const run = this.run(cell);
    const { executionCount } = cell.model;
    const asked = this._watch.asked(cell);
    const dropped = !this._mended.has(record.id) && isDropped(cell);
    if (misses(record, run, executionCount, asked, dropped)) {
      if (dropped) {
        this._mended.add(record.id);
      }
      void this._restorer.restore(cell, found);
      return !hasEnded;
    }
    if (run?.run === record.id && run.cleared) {
      return false;
    }
    // a cell started with --no-wait, or one whose end the page received before the head's record
    write(cell, this._restarts.runOf(cell, found));
    return !hasEnded;
  }

  private _notebook(): INotebook {
    return notebookOf(this._panel, this._services.sessions);
  }

  private _changed = new Signal<this, CodeCell | null>(this);
  private _isDisposed = false;
  private _executed: ExecutedRequests;
  /** Whether the notebook's cells are there. */
  private _isReady = false;
  /** Runs with output that the server had dropped, and that was restored. */
  private _mended = new Set<string>();
  private _restarts: KernelRestarts;
  private _restorer: OutputRestorer;
  /** Cell → its run, and the message of this page that asked for it; a cluster that is gone takes its records along. */
  private _seen = new WeakMap<
    CodeCell,
    { request: string | null; run: IRun }
  >();
  /** Cells whose outcome is awaited. */
  private _waiting = new Set<CodeCell>();
  private _watch: CellWatch;
  private _writers: Writers;
}
