import { CodeCell } from '@jupyterlab/cells';
import { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import { Poll, Throttler } from '@lumino/polling';
import { PanelLayout } from '@lumino/widgets';
import React from 'react';

import { Cluster } from '../tokens';
import { magicOf, readOutputs, trimOutputs } from './read';
import { CellView, Choice } from './view';

/** At most so often a cell's output is read and drawn, ms. */
const EVERY = 200;

/**
 * A distributed cell's bar and lines, between its input and its other outputs.
 *
 * The notebook keeps the ordinary labelled text, and shows it wherever this extension is missing.
 */
export class CellOutputView extends ReactWidget {
  constructor(
    private _cell: CodeCell,
    private _trans: TranslationBundle,
    private _cluster: () => Cluster | null,
    private _goTo: (cell: string, line: number) => void
  ) {
    super();
    this.addClass('jp-Dtrain-output');
    const { model } = _cell;
    model.outputs.changed.connect(this._changed, this);
    model.stateChanged.connect(this._stateChanged, this);
    model.sharedModel.changed.connect(this._changed, this);
    const layout = _cell.layout as PanelLayout;
    const outputs = layout.widgets.findIndex(w =>
      w.node.contains(_cell.outputArea.node)
    );
    layout.insertWidget(outputs, this);
    this._changed();
  }

  override dispose(): void {
    if (!this.isDisposed) {
      void this._throttle.dispose();
      this._clock.dispose();
      super.dispose();
    }
  }

  protected render(): JSX.Element | null {
    const cell = this._cell;
    const magic = cell.isDisposed
      ? null
      : magicOf(cell.model.sharedModel.getSource());
    const running = cell.model?.executionState === 'running';
    if (magic) {
      trimOutputs(cell);
    }
    const output = magic && readOutputs(cell);
    const shown =
      !!output &&
      !cell.outputHidden &&
      (running || output.ranks.length > 0 || !!output.failure);
    this.setHidden(!shown);
    cell.toggleClass('jp-Dtrain-cell', shown);
    if (!shown || !output) {
      return null;
    }
    this._mark(output.places);
    const cluster = this._cluster();
    const size = cluster?.world.size ?? 0;
    const all = Array.from({ length: size }, (_, rank) => rank);
    const ranks = magic.ranks ?? (all.length ? all : output.ranks);
    const known = ranks.length ? ranks : output.ranks;
    return (
      <CellView
        state={{
          output,
          ranks: known,
          running,
          seconds: this._seconds(running),
          choice: this._choice,
          cluster
        }}
        trans={this._trans}
        onChoose={choice => {
          this._choice = choice;
          this.update();
        }}
        onPlace={this._goTo}
      />
    );
  }

  /** Hide what the view shows in its own way, and say of each picture whose it is. */
  private _mark(places: readonly (number | null | undefined)[]): void {
    const { widgets } = this._cell.outputArea;
    widgets.forEach((widget, i) => {
      const place = places[i];
      const other = typeof this._choice === 'number' && place !== this._choice;
      widget.node.toggleAttribute(
        'data-dtrain-hidden',
        place === null || (place !== undefined && other)
      );
      if (typeof place === 'number') {
        widget.node.dataset.dtrainRank = String(place);
        widget.node.style.order = String(place);
      }
    });
    this._cell.outputArea.node.toggleAttribute(
      'data-dtrain-figures',
      places.some(place => typeof place === 'number')
    );
  }

  private _seconds(running: boolean): number | null {
    if (this._began === null) {
      return null;
    }
    const end = running ? Date.now() : this._ended;
    return end === null ? null : (end - this._began) / 1000;
  }

  private _stateChanged(
    _: unknown,
    change: { name: string; newValue: unknown }
  ): void {
    if (change.name === 'executionState') {
      const running = change.newValue === 'running';
      if (running) {
        this._began = Date.now();
        this._ended = null;
      } else {
        this._ended = Date.now();
      }
      if (running && magicOf(this._cell.model.sharedModel.getSource())) {
        void this._clock.start();
      } else {
        void this._clock.stop();
      }
      this._changed();
    }
  }

  private _changed(): void {
    void this._throttle.invoke();
  }

  private _began: number | null = null;
  private _choice: Choice = 'together';
  /** Seconds go by without any output, too. */
  private _clock = new Poll({
    auto: false,
    name: 'dtrain-lab:cell',
    factory: async () => this._changed(),
    frequency: { interval: 1000, backoff: false },
    standby: 'when-hidden'
  });
  private _ended: number | null = null;
  private _throttle = new Throttler(() => this.update(), { limit: EVERY });
}
