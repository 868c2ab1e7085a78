import { CodeCell } from '@jupyterlab/cells';
import { CommandRegistry } from '@lumino/commands';
import { IDisposable } from '@lumino/disposable';
import { Poll, Throttler } from '@lumino/polling';
import { Signal } from '@lumino/signaling';

import { reportErrors } from '../cluster/dialogs/reportErrors';
import { CommandIDs } from '../commands';
import { RequestError } from '../request/rest';
import { IKernelRecords, ILiveState, Link } from '../tokens';
import { ICellActions, whyNotShown } from './cellActions';
import { WidgetKernels } from './displays/widgetKernels';
import { NOTHING } from './lines/omitted';
import { Choice } from './lines/parts';
import { ICellOutput, IMagic, magicOf, readOutputs } from './runs/cellOutput';
import { endedRanks, IClusterRecord, IRun, isOver } from './runs/storedRun';
import { trimOutputs } from './runs/trimOutputs';
import { IRunStatus, isStripped, runStatusOf } from './runStatus';
import { ILeft, MOST_LINES } from './text/leftLines';
import { IWhole, wholeOf, withWhole } from './wholeOutput';

/** Minimum interval between two readings of a cell, ms. */
const EVERY = 200;
/** Interval at which all lines of a running cell are read again, once the user has requested them, ms. */
const AGAIN = 5000;
/** … and the delay after its end, ms. */
const AGAIN_AT_END = 300;

/** Dependencies of a cell's model. */
export interface IContext extends ICellActions {
  clusters: ILiveState;
  names: Pick<IKernelRecords, 'notebookName'>;
  widgetKernels: Pick<WidgetKernels, 'fateOf'>;
  /**
   * The cluster whose start the notebook's kernel waits for, if it executes a cell now; see `awaitedStart`.
   *
   * @param named - the cluster that the cell's magic names; null if it names none.
   */
  awaitedStart: (named: string | null) => IRunStatus['starts'];
}

/** What a cell of ranks shows. */
export interface IShownCell {
  /** With all lines, where they were read. */
  output: ICellOutput;
  status: IRunStatus;
  ranks: readonly number[];
  choice: Choice;
  /** Ranks whose processes, in which the cell ran, have ended. */
  ended: ReadonlySet<number>;
  left: ILeft;
}

/**
 * The output of a cell of ranks: read again when its notebook, its cluster, its run or the user's choice changes, also
 * where nobody draws it. Omits the middle of what is too long, in the notebook.
 */
export class CellOutputModel implements IDisposable {
  readonly changed = new Signal<this, void>(this);

  constructor(
    private _cell: CodeCell,
    private _context: IContext
  ) {
    const { model } = _cell;
    model.outputs.changed.connect(this.touch, this);
    model.stateChanged.connect(this.touch, this);
    model.metadataChanged.connect(this.touch, this);
    model.sharedModel.changed.connect(this.touch, this);
    _context.runs.changed.connect(this._runsChanged, this);
    _context.clusters.changed.connect(this._heard, this);
    _context.commands.commandChanged.connect(this._commandChanged, this);
    this.touch();
  }

  /** Null while it shows nothing of ranks. */
  get shown(): IShownCell | null {
    return this._shown;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      Signal.disconnectReceiver(this);
      this._throttle.dispose();
      this._clock.dispose();
      Signal.clearData(this);
    }
  }

  /** Read the cell again, soon. */
  touch(): void {
    if (!this._isDisposed) {
      void this._throttle.invoke();
    }
  }

  /** Show the output of these ranks. */
  choose(choice: Choice): void {
    this._chosen = choice;
    // what was added to the view before would take the page seconds to draw anew
    this._first = MOST_LINES / 2;
    this._read();
  }

  private _read(): void {
    const cell = this._cell;
    const { runs } = this._context;
    if (this._isDisposed || cell.isDisposed || runs.isDisposed) {
      return;
    }
    const magic = magicOf(cell.model.sharedModel.getSource());
    const run = runs.run(cell);
    const kept = !!run && !run.cleared;
    if ((kept || magic) && runs.trims(cell)) {
      trimOutputs(cell, runs.isShared);
    }
    const output = kept || magic ? readOutputs(cell) : null;
    const found = output && runs.recordOf(cell);
    const status = output && this._statusOf(output, magic, found, run);
    if (status?.starts === 'unknown') {
      this._context.clusters.look(); // while there was no cluster, the server is seldom asked
    }
    const over = !status?.state || isOver(status.state);
    const isShown =
      !!output &&
      !cell.outputHidden &&
      (!over ||
        output.ranks.length > 0 ||
        !!output.failure ||
        (kept && !isStripped(cell, run)));
    this._tick(isShown && !over);
    this._shown =
      output && status && isShown
        ? this._show(output, status, magic, found, run)
        : null;
    this.changed.emit();
  }

  private _statusOf(
    output: ICellOutput,
    magic: IMagic | null,
    found: IClusterRecord | null,
    run: IRun | null
  ): IRunStatus {
    const cell = this._cell;
    const { clusters, names, runs } = this._context;
    const { failure } = output;
    const live = runs.isLive(cell);
    if (failure?.refused) {
      // the record is of the run before
      return {
        ...{ state: 'not run', record: null, cluster: null, seconds: null },
        ...{ ranks: [], said: failure.said }
      };
    }
    const seen = runs.seenRun(cell);
    const status = this._timed(
      runStatusOf(cell, found, run, live, output, names, seen)
    );
    const state =
      failure?.interrupted && status.state === 'failed'
        ? 'interrupted'
        : status.state;
    const stop = failure?.stopped
      ? (runs.stopOf(cell) ?? failure.stop)
      : undefined;
    // where a cluster has had a record of it, it is not the start of one that it waits for
    const waits =
      state === 'waiting' && !found && !seen && runs.isExecuting(cell);
    return {
      ...status,
      state,
      starts: waits
        ? this._context.awaitedStart(magic?.cluster ?? null)
        : undefined,
      said:
        status.said ??
        failure?.said ??
        (stop && [{ code: 'stopped', values: stop }]),
      noEnd: state ? undefined : runs.hasNoEnd(cell),
      unheard:
        clusters.link === 'lost'
          ? {
              since: clusters.lastFrameAt,
              clustersStopped: clusters.stopped === 'with clusters'
            }
          : undefined
    };
  }

  /** With the time at which the kernel has reported the end, until the cluster has. */
  private _timed(status: IRunStatus): IRunStatus {
    const { record, state, seconds } = status;
    if (!record || record.state === 'ended' || !state || !isOver(state)) {
      this._took = null;
      return status;
    }
    // the time until the page knew would be wrong in the digits of a short one
    this._took ??= {
      seconds: seconds !== null && seconds < 1 ? null : seconds
    };
    return { ...status, ...this._took };
  }

  private _show(
    output: ICellOutput,
    status: IRunStatus,
    magic: IMagic | null,
    found: IClusterRecord | null,
    run: IRun | null
  ): IShownCell {
    this._follow(status.record?.id ?? run?.run ?? null);
    const ranks = status.ranks.length
      ? status.ranks
      : (magic?.ranks ?? output.ranks);
    if (typeof this._chosen === 'number' && !ranks.includes(this._chosen)) {
      this._chosen = null;
    }
    const whole = this._whole && withWhole(output, this._whole);
    if (whole) {
      this._loadAgain(!status.state || isOver(status.state));
    }
    const canShow = !output.left.lines || !!whole || !!found;
    return {
      output: whole ?? output,
      status,
      ranks,
      choice: this._chosen ?? (magic?.byRank ? 'by rank' : 'together'),
      ended: endedRanks(found, ranks, this._context.runs.isUnknown(this._cell)),
      left: {
        gone: whole ? NOTHING : output.left,
        first: this._first,
        show: canShow ? () => this._showMore(output) : null,
        why: whyNotShown(this._context.runs, this._cell, this._context.trans)
      }
    };
  }

  private _showMore(output: ICellOutput): void {
    this._first += MOST_LINES;
    if (output.left.lines && !this._whole) {
      void reportErrors(this._context.trans, () => this._loadWhole());
    }
    this._read();
  }

  /** The cell runs again: hide its previous run. */
  private _follow(run: string | null): void {
    if (run !== this._run) {
      this._run = run;
      this._whole = null;
      this._hasEnd = false;
      this._first = MOST_LINES / 2;
    }
  }

  /** Read all lines again if that is due. */
  private _loadAgain(over: boolean): void {
    const since = Date.now() - this._wholeAt;
    if (!this._hasEnd && since > (over ? AGAIN_AT_END : AGAIN)) {
      this._loadWhole().catch(error => {
        if (!(error instanceof RequestError)) {
          throw error;
        }
        // the server can't be reached: retried later
      });
    }
  }

  /** Read the lines that the page has not kept from the journal. */
  private async _loadWhole(): Promise<void> {
    const { runs } = this._context;
    const found = runs.recordOf(this._cell);
    this._wholeAt = Date.now();
    if (!found) {
      return;
    }
    const journal = await runs.all(this._cell, found);
    if (this._isDisposed || this._run !== found.record.id) {
      return;
    }
    this._hasEnd = found.record.state === 'ended';
    const gone = endedRanks(found, found.record.ranks, false);
    this._whole = wholeOf(journal, gone);
    this._read();
  }

  /** Elapsed seconds change without output, too. */
  private _tick(on: boolean): void {
    if (on !== this._ticks) {
      this._ticks = on;
      void (on ? this._clock.start() : this._clock.stop());
    }
  }

  private _runsChanged(_: unknown, cell: CodeCell | null): void {
    if (!cell || cell === this._cell) {
      this.touch();
    }
  }

  private _commandChanged(
    _: unknown,
    { id }: CommandRegistry.ICommandChangedArgs
  ): void {
    if (id === CommandIDs.compareVariable || id === CommandIDs.debugRank) {
      this.touch();
    }
  }

  /** Read it at once: the metrics are those of the panel, which draws them in the same frame. */
  private _heard(): void {
    const { link } = this._context.clusters;
    if (this._ticks || link !== this._link) {
      this._link = link;
      this._read();
    }
  }

  /** The user's choice of output; null until then. */
  private _chosen: Choice | null = null;
  private _clock = new Poll({
    auto: false,
    name: 'dtrain-lab:cell',
    factory: async () => this.touch(),
    frequency: { interval: 1000, backoff: false },
    standby: 'when-hidden'
  });
  /** Number of lines drawn at the beginning. */
  private _first = MOST_LINES / 2;
  /** Whether `_whole` was read after the cell's end. */
  private _hasEnd = false;
  private _isDisposed = false;
  /** The connection, as of the last reading. */
  private _link: Link | null = null;
  /** Id of the displayed run. */
  private _run: string | null = null;
  private _shown: IShownCell | null = null;
  private _throttle = new Throttler(() => this._read(), { limit: EVERY });
  private _ticks = false;
  /** The time of a cell whose end only the kernel has reported. */
  private _took: Pick<IRunStatus, 'seconds'> | null = null;
  /** All lines, once the user has requested those that the page dropped. */
  private _whole: IWhole | null = null;
  private _wholeAt = 0;
}
