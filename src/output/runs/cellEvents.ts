import { CodeCell, ICodeCellModel } from '@jupyterlab/cells';
import { KernelMessage } from '@jupyterlab/services';
import { ISignal, Signal } from '@lumino/signaling';

import { showState } from '../../jupyterlab/cells';
import {
  forgetRequest,
  isBare,
  isDistributed,
  isUnderway,
  requestOf,
  showAreaAgain,
  watchEnd,
  write
} from './notebookDocument';
import { isDetached, readOutputs } from './cellOutput';
import { CellRecords } from './cellRecords';
import { Cluster } from '../../tokens';
import { SummaryPart } from './outcome';
import {
  endedWith,
  IRun,
  isOver,
  leftRun,
  numberOf,
  readRun,
  RUN_KEY
} from './storedRun';
import { Stops } from './kernelReports';

/** Events of cells, and their listeners. */
export interface IWatchOptions {
  /** This page has started a cell; `request` is the id of the message. */
  asked: (request: string) => void;
  /** Another page runs a cell that this page had started with the message of this id. */
  released: (request: string) => void;
  /** The user has cleared the outputs of a run that goes on. */
  cleared: (cell: CodeCell) => void;
  /** A cell of ranks has started or ended. */
  moved: () => void;
  /** A cell's outputs, its execution count or its stored run have changed; an edit of its source changes none. */
  changed: (cell: CodeCell) => void;
  /** Whether the current change of the document comes from another page. */
  isForeign: () => boolean;
  /** Whether this page runs the cell, in any view of its notebook. */
  isLive: (cell: CodeCell) => boolean;
  /** Whether there is no connection to the server, so that nobody knows how clusters have ended meanwhile. */
  isCut: () => boolean;
  /** Whether the current change is our own, not the user's. */
  isWriting: () => boolean;
  /** What the notebook's kernel publishes. */
  messages: ISignal<unknown, KernelMessage.IMessage>;
}

/** What is known of the ends of clusters. */
type Ends = Pick<
  CellRecords,
  'endingOf' | 'leftRecord' | 'endedWithCluster' | 'hearEnding'
>;

/** Cell → the message of this page's last run of it, in any view of its notebook. */
const asked = new WeakMap<ICodeCellModel, string>();

/** Mark a cell whose output is text of our magics, so that CSS doesn't break words in it. */
function markMagic(cell: CodeCell): void {
  cell.toggleClass(
    'jp-DtrainOutput-magic',
    /^%distributed\b/m.test(cell.model.sharedModel.getSource())
  );
}

/** Whether a kernel has reported that a cell ended without an error; its cluster may have ended since. */
function hasSucceeded({ model }: CodeCell): boolean {
  const { executionCount, outputs, sharedModel } = model;
  const failed = Array.from({ length: outputs.length }, (_, i) =>
    outputs.get(i)
  ).some(output => output.type === 'error');
  return (
    executionCount !== null && !failed && !isDetached(sharedModel.getSource())
  );
}

/** The cluster of a cell has ended: keep what it has left of the cell's run, or else how it ended. */
function endAsLeft(
  cell: CodeCell,
  run: IRun,
  ending: Cluster['summary'],
  ends: Ends
): void {
  const { model } = cell;
  const record = ends.leftRecord(run);
  if (record) {
    const number = numberOf(record);
    // this page has received all that the cell wrote before its end, or before the cluster's
    const isWhole =
      model.executionCount === number || ends.endedWithCluster(run, model.id);
    write(cell, leftRun(run, record, ending, isWhole));
    model.executionCount = number;
    model.executionState = 'idle';
  } else if (
    record === null &&
    !hasSucceeded(cell) &&
    ends.endedWithCluster(run, model.id)
  ) {
    const over = endedWith(run, ending);
    if (over) {
      // otherwise it looks like a cell of which a tool has stripped what it had
      write(cell, isBare(cell) ? { ...over, silent: true } : over);
    }
  }
}

/** Tracks the messages by which this page runs cells, their ends, and when outputs are cleared. */
export class CellWatch {
  constructor(private _options: IWatchOptions) {
    this._stops = new Stops(_options.messages);
  }

  dispose(): void {
    this._stops.dispose();
  }

  /** The message of this page's last run of a cell. */
  asked(cell: CodeCell): string | undefined {
    return asked.get(cell.model);
  }

  /** Who has stopped the cluster of a cell that this page has run; undefined if nobody has. */
  stopOf(cell: CodeCell): SummaryPart['values'] | undefined {
    return this._stops.of(this.asked(cell));
  }

  watch(cell: CodeCell): void {
    if (this._watched.has(cell)) {
      return;
    }
    this._watched.add(cell);
    const { model } = cell;
    markMagic(cell);
    const listener = {};
    // the model stays if another view of its notebook is open
    cell.disposed.connect(() => Signal.disconnectReceiver(listener));
    model.metadataChanged.connect((_, { key }) => {
      if (key === RUN_KEY) {
        this._options.changed(cell);
      }
    }, listener);
    model.stateChanged.connect((_, { name }) => {
      if (name === 'executionCount') {
        this._options.changed(cell);
      } else if (name === 'executionState') {
        markMagic(cell);
        showState(cell);
        const before = asked.get(model);
        const foreign = this._options.isForeign();
        if (model.executionState === 'running') {
          this._endedAt.delete(cell);
          if (foreign) {
            this._release(cell);
          }
        } else if (before) {
          // when the server is back, kernels that have ended with it are told as if they ended now
          const known = !this._options.isCut();
          this._endedAt.set(cell, known ? Math.round(Date.now()) / 1000 : null);
        }
        // the message is created right after the state has changed
        queueMicrotask(() => {
          if (cell.isDisposed) {
            return;
          }
          const ofRanks =
            isDistributed(cell) || !!readRun(model.getMetadata(RUN_KEY));
          const ends = model.executionState !== 'running';
          if (ofRanks && before && ends && !foreign && isUnderway(cell)) {
            // the user has cleared it: it still runs, and its output must not be restored while more of it arrives
            model.executionState = 'running';
            showAreaAgain(cell);
            this._options.cleared(cell);
            return;
          }
          const request = requestOf(cell);
          if (request) {
            watchEnd(cell);
            asked.set(model, request);
            this._options.asked(request);
          }
          if (ofRanks) {
            this._options.moved();
          }
        });
      }
    }, listener);
    model.outputs.changed.connect(() => {
      const run = readRun(model.getMetadata(RUN_KEY));
      // another page reports cleared outputs and starting runs itself
      const own = !this._options.isWriting() && !this._options.isForeign();
      if (
        own &&
        !model.outputs.length &&
        run &&
        !run.cleared &&
        !this._options.isLive(cell)
      ) {
        if (isOver(run.state)) {
          write(cell, { ...run, cleared: true });
        } else {
          this._options.cleared(cell);
        }
      }
      this._options.changed(cell);
    }, listener);
  }

  /** Another page runs a cell. */
  private _release(cell: CodeCell): void {
    forgetRequest(cell);
    const request = asked.get(cell.model);
    if (request) {
      asked.delete(cell.model);
      this._options.released(request);
    }
  }

  /**
   * The record of a cell whose cluster has ended is gone: keep what the kernel reported, or else what the cluster has
   * left, or else how it ended.
   *
   * @param ends - what is known of the ends of clusters.
   */
  endUnrecorded(cell: CodeCell, ends: Ends): void {
    const run = readRun(cell.model.getMetadata(RUN_KEY));
    const ended = this._endedAt.get(cell);
    if (!run || run.cleared || isOver(run.state) || this._options.isCut()) {
      return;
    }
    const ending = ends.endingOf(run);
    if (!ending) {
      ends.hearEnding(run);
    }
    if (!ending && ended === undefined) {
      return;
    }
    const output = readOutputs(cell);
    // a server interrupts the cells of its kernels when it stops: what is kept until then ends with the cluster
    const withServer =
      output.failure?.interrupted && ending?.values.by === 'shutdown';
    if (!output.failure || withServer) {
      if (ending) {
        endAsLeft(cell, run, ending, ends);
      }
    } else if (ended !== undefined) {
      const { interrupted, stopped } = output.failure;
      const stop = stopped ? (this.stopOf(cell) ?? output.failure.stop) : null;
      const state = interrupted ? 'interrupted' : 'failed';
      const parts = stop ? [{ code: 'stopped', values: stop }] : run.said;
      const rest = { ...run };
      delete rest.cluster;
      write(cell, {
        ...rest,
        state,
        ...(ended !== null && { ended }),
        ...(parts && { said: parts })
      });
    }
  }

  /** Cell → when the kernel reported its end to this page, seconds since 1970; null if nobody knows when it was. */
  private _endedAt = new WeakMap<CodeCell, number | null>();
  private _stops: Stops;
  private _watched = new WeakSet<CodeCell>();
}
