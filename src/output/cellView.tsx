import { CodeCell } from '@jupyterlab/cells';
import { ReactWidget } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import { MessageLoop } from '@lumino/messaging';
import { Poll, Throttler } from '@lumino/polling';
import { PanelLayout, Widget } from '@lumino/widgets';
import React from 'react';

import { reportErrors } from '../cluster/dialogs/reportErrors';
import { CommandIDs } from '../commands';
import { RequestError } from '../request/rest';
import { ILiveState } from '../tokens';
import { actionsOf, ICellActions } from './cellActions';
import { Interleaved } from './text/interleaved';
import { markDisplays, MoreDisplays } from './displays';
import { blocksOf, Choice, countParts } from './lines/parts';
import {
  ICellOutput,
  magicOf,
  readOutputs,
  trimOutputs
} from './runs/cellOutput';
import { MOST_LINES } from './text/rows';
import { endedRanks, isOver } from './runs/storedRun';
import { IRunStatus, runStatusOf } from './runStatus';
import { CellView } from './cellContent';
import { IWhole, wholeOf, withWhole } from './wholeOutput';

/** Minimum interval between two renders of a cell, ms. */
const EVERY = 200;
/** Interval at which all lines of a running cell are read again, once the user has requested them, ms. */
const AGAIN = 5000;
/** … and the delay after its end, ms. */
const AGAIN_AT_END = 300;

/** Dependencies of a cell's view. */
export interface IContext extends ICellActions {
  clusters: ILiveState;
}

/**
 * The bar and lines of a distributed cell, between its input and its other outputs.
 *
 * The notebook keeps the ordinary labelled text, and shows it wherever this extension is missing.
 */
export class CellOutputView extends ReactWidget {
  constructor(
    private _cell: CodeCell,
    private _context: IContext
  ) {
    super();
    this.addClass('jp-DtrainOutput');
    const { model } = _cell;
    model.outputs.changed.connect(this._changed, this);
    model.stateChanged.connect(this._changed, this);
    model.metadataChanged.connect(this._changed, this);
    model.sharedModel.changed.connect(this._changed, this);
    _context.runs.changed.connect(this._changed, this);
    _context.clusters.changed.connect(this._heard, this);
    _context.commands.commandChanged.connect(this._commandChanged, this);
    const layout = _cell.layout as PanelLayout;
    const outputs = layout.widgets.findIndex(w =>
      w.node.contains(_cell.outputArea.node)
    );
    this._more = new MoreDisplays(_context.trans, () => {
      this._allDisplays = true;
      this.update();
    });
    this._between = new Interleaved(_cell.outputArea.node);
    layout.insertWidget(outputs, this);
    layout.insertWidget(outputs + 2, this._more);
    this._changed();
  }

  override dispose(): void {
    if (!this.isDisposed) {
      const { clusters, runs, commands } = this._context;
      clusters.changed.disconnect(this._heard, this);
      runs.changed.disconnect(this._changed, this);
      commands.commandChanged.disconnect(this._commandChanged, this);
      this._between.set([]);
      this._widgets.disconnect();
      void this._throttle.dispose();
      this._clock.dispose();
      super.dispose();
    }
  }

  protected render(): JSX.Element | null {
    const cell = this._cell;
    const { clusters, runs } = this._context;
    if (cell.isDisposed || runs.isDisposed) {
      return null;
    }
    const magic = magicOf(cell.model.sharedModel.getSource());
    const run = runs.run(cell);
    const live = runs.isLive(cell);
    const kept = run && !run.cleared;
    if ((kept || magic) && runs.trims(cell)) {
      trimOutputs(cell, runs.isShared);
    }
    const output = kept || magic ? readOutputs(cell) : null;
    const found = output && runs.recordOf(cell);
    const status = output
      ? runStatusOf(cell, found, run, live, !!output.failure)
      : null;
    if (output?.failure?.interrupted && status?.state === 'failed') {
      status.state = 'interrupted';
    }
    const stop = output?.failure?.stopped
      ? (runs.stopOf(cell) ?? output.failure.stop)
      : undefined;
    if (stop && status && !status.said) {
      status.said = [{ code: 'stopped', values: stop }];
    }
    if (status && !status.state) {
      status.noEnd = runs.hasNoEnd(cell);
    }
    if (status && clusters.link === 'lost') {
      status.unheard = { since: clusters.lastFrameAt };
    }
    const over = !status?.state || isOver(status.state);
    const shown =
      !!output &&
      !cell.outputHidden &&
      (!over || output.ranks.length > 0 || !!output.failure || !!kept);
    this.setHidden(!shown);
    cell.toggleClass('jp-DtrainOutput-cell', shown);
    this._tick(shown && !over);
    if (!shown || !output || !status) {
      this._more.count = 0;
      this._between.set([]);
      return null;
    }
    this._follow(status.record?.id ?? run?.run ?? null);
    const ranks = this._ranks(status, magic?.ranks ?? null, output);
    if (typeof this._chosen === 'number' && !ranks.includes(this._chosen)) {
      this._chosen = null;
    }
    const choice = this._chosen ?? (magic?.byRank ? 'by rank' : 'together');
    const whole = this._whole && withWhole(output, this._whole);
    const displays = markDisplays(
      this._cell.outputArea,
      whole ?? output,
      choice,
      ranks,
      this._allDisplays,
      endedRanks(found, ranks, runs.isUnknown(cell))
    );
    this._more.count = displays.beyond;
    if (output.kinds.includes('widget') && !this._watchesWidgets) {
      this._watchesWidgets = true;
      this._widgets.observe(this._cell.outputArea.node, {
        attributes: true,
        attributeFilter: ['class'],
        subtree: true
      });
    }
    const since = Date.now() - this._wholeAt;
    if (whole && !this._hasEnd && since > (over ? AGAIN_AT_END : AGAIN)) {
      this._loadWhole().catch(error => {
        if (!(error instanceof RequestError)) {
          throw error;
        }
        // the server can't be reached: retried later
      });
    }
    const canShow = !output.left || !!whole || !!found;
    const { lines } = whole ?? output;
    const blocks =
      displays.any && countParts(lines) > 1
        ? blocksOf(lines, choice, ranks)
        : [];
    return (
      <CellView
        state={{
          output: whole ?? output,
          ranks,
          status,
          choice,
          between: this._between.set(blocks),
          gone: displays.gone,
          dead: displays.dead,
          disconnected: displays.disconnected,
          unloaded: displays.unloaded,
          left: {
            gone: whole ? 0 : output.left,
            first: this._first,
            show: canShow ? () => this._showMore(output) : null
          }
        }}
        trans={this._context.trans}
        actions={actionsOf(status, this._cell, this._context, choice => {
          this._chosen = choice;
          this.update();
        })}
      />
    );
  }

  private _ranks(
    status: IRunStatus,
    named: readonly number[] | null,
    output: ICellOutput
  ): readonly number[] {
    return status.ranks.length ? status.ranks : (named ?? output.ranks);
  }

  private _showMore(output: ICellOutput): void {
    this._first += MOST_LINES;
    if (output.left && !this._whole) {
      void reportErrors(this._context.trans, () => this._loadWhole());
    }
    this.update();
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

  /** Read the lines that the page has not kept from the journal. */
  private async _loadWhole(): Promise<void> {
    const { runs } = this._context;
    const found = runs.recordOf(this._cell);
    this._wholeAt = Date.now();
    if (!found) {
      return;
    }
    const journal = await runs.all(found);
    if (this.isDisposed || this._run !== found.record.id) {
      return;
    }
    this._hasEnd = found.record.state === 'ended';
    this._whole = wholeOf(journal);
    this.update();
  }

  /** Elapsed seconds change without output, too. */
  private _tick(on: boolean): void {
    if (on !== this._ticks) {
      this._ticks = on;
      void (on ? this._clock.start() : this._clock.stop());
    }
  }

  private _commandChanged(
    _: unknown,
    args: CommandRegistry.ICommandChangedArgs
  ): void {
    const { id } = args;
    if (id === CommandIDs.compareVariable || id === CommandIDs.debugRank) {
      this._changed();
    }
  }

  /** Render at once: the metrics are those of the panel, which renders in the same frame. */
  private _heard(): void {
    if (this._ticks) {
      MessageLoop.sendMessage(this, Widget.Msg.UpdateRequest);
    }
  }

  private _changed(): void {
    void this._throttle.invoke();
  }

  private _allDisplays = false;
  /** Text between displays of ranks. */
  private _between: Interleaved;
  /** The user's choice of output; null until then. */
  private _chosen: Choice | null = null;
  private _clock = new Poll({
    auto: false,
    name: 'dtrain-lab:cell',
    factory: async () => this._changed(),
    frequency: { interval: 1000, backoff: false },
    standby: 'when-hidden'
  });
  /** Number of lines drawn at the beginning. */
  private _first = MOST_LINES / 2;
  /** Whether `_whole` was read after the cell's end. */
  private _hasEnd = false;
  private _more: MoreDisplays;
  /** Id of the displayed run. */
  private _run: string | null = null;
  private _throttle = new Throttler(() => this.update(), { limit: EVERY });
  private _ticks = false;
  private _watchesWidgets = false;
  /** Whether a widget can be displayed is known only after its view was requested. */
  private _widgets = new MutationObserver(() => this._changed());
  /** All lines, once the user has requested those that the page dropped. */
  private _whole: IWhole | null = null;
  private _wholeAt = 0;
}
