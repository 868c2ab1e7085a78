import { CodeCell } from '@jupyterlab/cells';
import { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import { Widget } from '@lumino/widgets';
import React from 'react';

import { Choice, countParts, orderOf, WIDE } from './lines/parts';
import { ICellOutput } from './runs/cellOutput';

/** Maximum number of figures, tables and ranks with widgets that are displayed initially. */
const FIRST = 8;

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
 * kernel, and those with widgets that were not loaded in time.
 */
export function markDisplays(
  area: CodeCell['outputArea'],
  output: ICellOutput,
  choice: Choice,
  ranks: readonly number[],
  all: boolean,
  ended: ReadonlySet<number>
): {
  beyond: number;
  any: boolean;
  gone: number;
  dead: number[];
  disconnected: number[];
  unloaded: number[];
} {
  const rank = typeof choice === 'number' ? choice : null;
  const parts = countParts(output.lines);
  const { widgets, node } = area;
  const seen = { figure: 0, table: 0 };
  const withWidgets = new Set<number>();
  const dead = new Set<number>();
  const disconnected = new Set<number>();
  const unloaded = new Set<number>();
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
    if (kind === 'widget' && !hidden && typeof place === 'number') {
      const isOver = ended.has(place);
      const controls = controlsOf(widget);
      const lost = controls.filter(c => isOver || isDisconnected(c));
      controls.forEach(c => c.toggleAttribute('inert', lost.includes(c)));
      widget.node.toggleAttribute('data-dtrain-disabled', lost.length > 0);
      if (lost.length) {
        (isOver ? dead : disconnected).add(place);
      } else if (isOver && isLoading(widget)) {
        unloaded.add(place);
        hidden = true; // it would say so forever
      }
    }
    if (typeof place === 'number' && !hidden) {
      // a rank's progress bars are shown all or not at all: only the last one moves
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
      // figures side by side, wider outputs after them
      const after = (wide ? WIDE : 0) + place;
      const part = Math.min(output.parts[i], parts - 1);
      const from = orderOf(part, parts, place, choice, ranks);
      widget.node.style.order = String(from + after);
    }
  }
  const any = seen.figure + seen.table + withWidgets.size > 0;
  node.toggleAttribute('data-dtrain-displays', any);
  node.style.setProperty(
    '--jp-dtrain-columns',
    String(Math.min(4, Math.max(1, seen.figure)))
  );
  const nothing = output.places.every(place => place === null);
  node.toggleAttribute('data-dtrain-empty', nothing);
  const sorted = (some: Set<number>): number[] =>
    [...some].sort((a, b) => a - b);
  return {
    beyond,
    any,
    gone,
    dead: sorted(dead),
    disconnected: sorted(disconnected),
    unloaded: sorted(unloaded)
  };
}

/**
 * Whether a view has lost its kernel, which was restarted or changed: ipywidgets marks it with an icon. The new
 * kernel does not pass its messages on, although its rank is alive.
 */
function isDisconnected(view: Element): boolean {
  return view.classList.contains('jupyter-widgets-disconnected');
}

/** Whether the rank has closed this widget, whose view then hides itself. */
function isClosed(output: Widget): boolean {
  return !!output.node.querySelector(
    ':scope > .jp-OutputArea-output.lm-mod-hidden'
  );
}

/** Whether only an error is left of this widget: its model is unknown, as in a copy of a notebook. */
function isGone(output: Widget): boolean {
  const shown = output.node.querySelector(
    ':scope > .jp-OutputArea-output.jupyter-widgets'
  );
  return !!shown && !shown.firstElementChild;
}

/** Whether a widget waits for its model. */
function isLoading(output: Widget): boolean {
  const shown = output.node.querySelector(':scope > .jp-OutputArea-output');
  return !!shown && !shown.firstElementChild && !!shown.textContent;
}

/** Classes of ipywidgets' own views that may take input. */
const OWN =
  '.jupyter-widgets:is(.widget-inline-hbox, .widget-inline-vbox, .widget-button, ' +
  '.widget-toggle-button, .widget-upload, .jupyter-widget-tagsinput)' +
  ':not(.widget-html, .widget-htmlmath)';
const INPUT = 'input, button, select, textarea, [role="slider"]';

/**
 * The views that need their rank: ipywidgets' own that take input, which a progress bar does not.
 *
 * A view of another library may have controls that work without its rank, such as a figure's toolbar or the
 * heads of a table; so do tabs.
 */
function controlsOf(output: Widget): Element[] {
  const own = output.node.querySelectorAll(`.jp-OutputArea-output ${OWN}`);
  return [...own].filter(e => e.matches(INPUT) || e.querySelector(INPUT));
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
