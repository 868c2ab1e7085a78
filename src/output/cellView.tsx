import { CodeCell } from '@jupyterlab/cells';
import { ReactWidget } from '@jupyterlab/ui-components';
import { Message, MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import React from 'react';

import { putAround } from '../jupyterlab/cells';
import { actionsOf } from './cellActions';
import { CellOutputModel, IContext, IShownCell } from './cellOutputModel';
import { CellView } from './cellContent';
import { markDisplays } from './displays/displays';
import { MoreDisplays } from './displays/moreDisplays';
import { modelOf } from './displays/widgetKernels';
import { IWidgetNotes, notesOfCopy } from './displays/widgetNotes';
import { blocksOf, countParts } from './lines/parts';
import { Interleaved, IPlacedBlock } from './text/interleaved';

/** What is in the cell's output area: displays of ranks, and text between them. */
interface IArranged {
  notes: IWidgetNotes;
  between: readonly IPlacedBlock[];
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
    this._more = new MoreDisplays(_context.trans, () => {
      this._allDisplays = true;
      this.update();
    });
    this._between = new Interleaved(_cell.outputArea.node);
    this._model = new CellOutputModel(_cell, _context);
    this._model.changed.connect(this._draw, this);
    putAround(_cell, this, this._more);
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._model.dispose();
      this._between.set([]);
      this._widgets.disconnect();
      super.dispose();
    }
  }

  /** Arrange what others draw in the cell; then draw the bar and the lines. */
  protected override onUpdateRequest(message: Message): void {
    if (!this._cell.isDisposed) {
      this._arrange(this._model.shown);
    }
    super.onUpdateRequest(message);
  }

  protected render(): JSX.Element | null {
    const { shown } = this._model;
    const arranged = this._arranged;
    if (!shown || !arranged) {
      return null;
    }
    const { output, status, ranks, choice, left } = shown;
    const { notes, between } = arranged;
    return (
      <CellView
        state={{
          output,
          ranks,
          status,
          choice,
          between,
          ...notes,
          left
        }}
        trans={this._context.trans}
        actions={actionsOf(status, this._cell, this._context, choice =>
          this._model.choose(choice)
        )}
      />
    );
  }

  /** Hide, label and order the displays in the cell's output, and make room for text between them. */
  private _arrange(shown: IShownCell | null): void {
    const { outputArea } = this._cell;
    this.setHidden(!shown);
    this._cell.toggleClass('jp-DtrainOutput-cell', !!shown);
    if (!shown) {
      this._arranged = null;
      this._more.count = 0;
      this._between.set([]);
      return;
    }
    const { output, ranks, choice, ended } = shown;
    const { beyond, any, ...notes } = markDisplays(
      outputArea,
      output,
      choice,
      ranks,
      this._allDisplays,
      ended,
      index => this._context.widgetKernels.fateOf(modelOf(outputArea, index))
    );
    this._more.count = beyond;
    const blocks =
      any && output.lines.some(({ part }) => part)
        ? blocksOf(
            output.lines,
            choice,
            ranks,
            countParts(output.lines, output.parts)
          )
        : [];
    this._arranged = {
      notes: this._context.runs.isCopied(this._cell)
        ? notesOfCopy(notes)
        : notes,
      between: this._between.set(blocks)
    };
    if (output.kinds.includes('widget') && !this._watchesWidgets) {
      this._watchesWidgets = true;
      this._widgets.observe(outputArea.node, {
        attributes: true,
        attributeFilter: ['class'],
        subtree: true
      });
    }
  }

  /** At once: the metrics are those of the panel, which renders in the same frame. */
  private _draw(): void {
    MessageLoop.sendMessage(this, Widget.Msg.UpdateRequest);
  }

  private _allDisplays = false;
  private _arranged: IArranged | null = null;
  /** Text between displays of ranks. */
  private _between: Interleaved;
  private _model: CellOutputModel;
  private _more: MoreDisplays;
  private _watchesWidgets = false;
  /** Whether a widget can be displayed is known only after its view was requested. */
  private _widgets = new MutationObserver(() => this._model.touch());
}
