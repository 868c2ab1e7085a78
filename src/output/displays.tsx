import { CodeCell } from '@jupyterlab/cells';
import { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import { Widget } from '@lumino/widgets';
import React from 'react';

import { Choice, countParts, orderOf, WIDE } from './lines/parts';
import { ICellOutput } from './runs/cellOutput';

/** Figures and tables of ranks, and ranks with widgets, that are shown at first. */
const FIRST = 8;

/**
 * Hide what the view shows in its own way, and say of each picture whose it is.
 *
 * @param area - of the cell's outputs.
 * @param choice - whose output is looked at.
 * @param ranks - all that there are.
 * @param all - show all of them, not the first ones only.
 * @returns how many are left out, whether any is shown, and how many widgets can't be: no kernel has their models.
 */
export function markDisplays(
  area: CodeCell['outputArea'],
  output: ICellOutput,
  choice: Choice,
  ranks: readonly number[],
  all: boolean
): { beyond: number; any: boolean; gone: number } {
  const rank = typeof choice === 'number' ? choice : null;
  const parts = countParts(output.lines);
  const { widgets, node } = area;
  const seen = { figure: 0, table: 0 };
  const withWidgets = new Set<number>();
  let beyond = 0;
  let gone = 0;
  const order = widgets
    .map((_, i) => i)
    .sort((a, b) => (output.places[a] ?? 0) - (output.places[b] ?? 0));
  for (const i of order) {
    const place = output.places[i];
    const other = rank !== null && place !== rank;
    const kind = output.kinds[i];
    const widget = widgets[i];
    let hidden =
      place === null ||
      (place !== undefined && other) ||
      (kind === 'widget' && isClosed(widget));
    if (typeof place === 'number' && !hidden && isGone(widget)) {
      hidden = true;
      gone++;
    }
    if (typeof place === 'number' && !hidden) {
      // a rank's progress bars are shown all or not at all: the last one is the one that moves
      const many =
        kind === 'widget' ? withWidgets.add(place).size : ++seen[kind];
      hidden = !all && many > FIRST;
      beyond += hidden ? 1 : 0;
    }
    widget.node.toggleAttribute('data-dtrain-hidden', hidden);
    if (typeof place === 'number') {
      widget.node.dataset.dtrainRank = String(place);
      const wide = kind !== 'figure';
      widget.node.dataset.dtrainKind = wide ? 'wide' : 'figure';
      // figures side by side, what needs more room after them
      const after = (wide ? WIDE : 0) + place;
      const part = Math.min(output.parts[i], parts - 1);
      const from = orderOf(part, parts, place, choice, ranks);
      widget.node.style.order = String(from + after);
    }
  }
  const any = seen.figure + seen.table + withWidgets.size > 0;
  node.toggleAttribute('data-dtrain-figures', any);
  node.style.setProperty(
    '--jp-dtrain-columns',
    String(Math.min(4, Math.max(1, seen.figure)))
  );
  const nothing = output.places.every(place => place === null);
  node.toggleAttribute('data-dtrain-empty', nothing);
  return { beyond, any, gone };
}

/** Has the rank closed this widget? Its view hides itself then. */
function isClosed(output: Widget): boolean {
  return !!output.node.querySelector(
    ':scope > .jp-OutputArea-output.lm-mod-hidden'
  );
}

/** Is an error all that there is of this widget? Its model is not known, as in a copy of a notebook. */
function isGone(output: Widget): boolean {
  const shown = output.node.querySelector(
    ':scope > .jp-OutputArea-output.jupyter-widgets'
  );
  return !!shown && !shown.firstElementChild;
}

/** Below the figures of ranks: those of the other ranks. */
export class MoreFigures extends ReactWidget {
  constructor(
    private _trans: TranslationBundle,
    private _all: () => void
  ) {
    super();
    this.addClass('jp-DtrainOutput-more');
    this.hide();
  }

  /** Number of displays that are not shown yet. */
  set count(count: number) {
    this._count = count;
    this.setHidden(!count);
    this.update();
  }

  protected render(): JSX.Element | null {
    return this._count ? (
      <button
        type="button"
        className="jp-DtrainOutput-button"
        onClick={this._all}
      >
        {this._trans.__('Show %1 more', this._count)}
      </button>
    ) : null;
  }

  private _count = 0;
}
