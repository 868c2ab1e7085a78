import { CodeCell } from '@jupyterlab/cells';
import { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import React from 'react';

import {
  controlsOf,
  isBlank,
  isClosed,
  isDisconnected,
  isGone,
  isLoading,
  mightChange,
  viewsOf
} from '../jupyterlab/ipywidgets';
import { beyondFirst, ranksBeyondFirst } from './displayLimit';
import { Choice, countParts, orderOf, WIDE } from './lines/parts';
import { ICellOutput, shapeOf } from './runs/cellOutput';

/**
 * Hide outputs that the view displays itself, and label each display with its rank.
 *
 * @param area - the cell's output area.
 * @param choice - the ranks whose output is displayed.
 * @param ranks - all ranks.
 * @param all - display all of them, not only the first ones.
 * @param ended - ranks whose processes have ended: nothing responds to their widgets any more.
 * @returns the number of omitted displays, whether any is displayed, the number of widgets without a
 * model in any kernel, the ranks with widgets that no longer respond, those whose widgets have lost their
 * kernel, and those with widgets that were not loaded before their processes ended; and, for both reasons, the ranks
 * with widgets that take no input, but might seem to change still.
 */
export function markDisplays(
  area: CodeCell['outputArea'],
  output: ICellOutput,
  choice: Choice,
  ranks: readonly number[],
  all: boolean,
  ended: ReadonlySet<number>
): { beyond: number; any: boolean } & IWidgetNotes {
  const rank = typeof choice === 'number' ? choice : null;
  const parts = countParts(output.lines, output.parts);
  const figures = new Map<number, number>();
  const { widgets, node } = area;
  /** Displays of ranks that are not hidden so far. */
  const displayed: { index: number; place: number }[] = [];
  const dead = new Set<number>();
  const disconnected = new Set<number>();
  const unloaded = new Set<number>();
  const still = { dead: new Set<number>(), disconnected: new Set<number>() };
  let gone = 0;
  const hidden = new Set<number>();
  const order = widgets
    .map((_, i) => i)
    .sort((a, b) => (output.places[a] ?? 0) - (output.places[b] ?? 0));
  for (const i of order) {
    const place = output.places[i];
    const other = rank !== null && place !== rank;
    const kind = output.kinds[i];
    const widget = widgets[i];
    let hides =
      place === null ||
      (place !== undefined && other) ||
      (kind === 'widget' ? isClosed(widget) : isBlank(widget));
    if (typeof place === 'number' && !hides && isGone(widget)) {
      hides = true;
      // of a rank whose process has ended, it never comes back by itself
      if (ended.has(place)) {
        unloaded.add(place);
      } else {
        gone++;
      }
    }
    if (kind === 'widget' && !hides && typeof place === 'number') {
      const isOver = ended.has(place);
      const controls = controlsOf(widget);
      const lost = controls.filter(c => isOver || isDisconnected(c));
      controls.forEach(c => c.toggleAttribute('inert', lost.includes(c)));
      const cut = viewsOf(widget).some(isDisconnected);
      const stops = !lost.length && (isOver || cut) && mightChange(widget);
      widget.node.toggleAttribute('data-dtrain-disabled', cut || !!lost.length);
      widget.node.toggleAttribute('data-dtrain-still', stops);
      if (lost.length) {
        (isOver ? dead : disconnected).add(place);
      } else if (stops) {
        (isOver ? still.dead : still.disconnected).add(place);
      } else if (isOver && isLoading(widget)) {
        unloaded.add(place);
        hides = true; // it would say so forever
      }
    }
    if (typeof place === 'number' && !hides) {
      displayed.push({ index: i, place });
    }
    if (hides) {
      hidden.add(i);
    }
  }
  const later = all ? [] : laterOf(displayed, output.kinds);
  later.forEach(i => hidden.add(i));
  for (const i of order) {
    const place = output.places[i];
    const widget = widgets[i];
    widget.node.toggleAttribute('data-dtrain-hidden', hidden.has(i));
    if (typeof place === 'number') {
      const kind = output.kinds[i];
      widget.node.dataset.dtrainRank = String(place);
      const shape = shapeOf(kind);
      widget.node.dataset.dtrainKind = shape;
      // figures side by side, wider outputs after them
      const after = (shape === 'wide' ? WIDE : 0) + place;
      const from = orderOf(output.parts[i], parts, place, choice, ranks);
      widget.node.style.order = String(from + after);
      if (shape === 'figure' && !hidden.has(i)) {
        figures.set(from, (figures.get(from) ?? 0) + 1);
      }
    }
  }
  const any = displayed.length > 0;
  node.toggleAttribute('data-dtrain-displays', any);
  node.style.setProperty(
    '--jp-dtrain-columns',
    String(Math.min(4, Math.max(1, ...figures.values())))
  );
  const nothing = output.places.every(place => place === null);
  node.toggleAttribute('data-dtrain-empty', nothing);
  const sorted = (some: Set<number>): number[] =>
    [...some].sort((a, b) => a - b);
  return {
    beyond: later.length,
    any,
    gone,
    dead: sorted(dead),
    disconnected: sorted(disconnected),
    unloaded: sorted(unloaded),
    still: {
      dead: sorted(still.dead),
      disconnected: sorted(still.disconnected)
    }
  };
}

/** Indices of the displays that are not displayed initially. */
function laterOf(
  displayed: readonly { index: number; place: number }[],
  kinds: ICellOutput['kinds']
): number[] {
  const later = (['figure', 'table'] as const).flatMap(kind => {
    const own = displayed.filter(({ index }) => kinds[index] === kind);
    const beyond = beyondFirst(own.map(({ place }) => place));
    return own.filter((_, i) => beyond.has(i));
  });
  const widgets = displayed.filter(({ index }) => kinds[index] === 'widget');
  const ranks = ranksBeyondFirst(widgets.map(({ place }) => place));
  later.push(...widgets.filter(({ place }) => ranks.has(place)));
  return later.map(({ index }) => index);
}

/** Ranks with widgets that no longer change: their processes have ended, or they have lost their kernel. */
export interface IStill {
  dead: readonly number[];
  disconnected: readonly number[];
}

/** What is to be said of the widgets of a cell. */
export interface IWidgetNotes {
  /** Number of widgets of living ranks that can't be displayed: no kernel has their models. */
  gone: number;
  /** Ranks with widgets that are disabled, as their processes have ended. */
  dead: readonly number[];
  /** Ranks with widgets that are disabled, as no kernel passes their messages on. */
  disconnected: readonly number[];
  /** Ranks that ended before their widgets were loaded. */
  unloaded: readonly number[];
  /** Ranks with widgets without controls that no longer change. */
  still: IStill;
}

/**
 * The notes on widgets in a copy of a notebook: the processes of its ranks may be alive, but not for this notebook,
 * whose kernel is another one.
 */
export function notesOfCopy(notes: IWidgetNotes): IWidgetNotes {
  const both = (a: readonly number[], b: readonly number[]): number[] =>
    [...new Set([...a, ...b])].sort((x, y) => x - y);
  return {
    gone: notes.gone + notes.unloaded.length,
    dead: [],
    disconnected: both(notes.dead, notes.disconnected),
    unloaded: [],
    still: {
      dead: [],
      disconnected: both(notes.still.dead, notes.still.disconnected)
    }
  };
}

/** Button below the displays of ranks for those that are not displayed yet. */
export class MoreDisplays extends ReactWidget {
  constructor(
    private _trans: TranslationBundle,
    private _all: () => void
  ) {
    super();
    this.addClass('jp-DtrainOutput-more');
    this.hide();
  }

  /** Number of displays not displayed yet. */
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
