import { CodeCell } from '@jupyterlab/cells';

import {
  controlsOf,
  isBlank,
  isClosed,
  isDisconnected,
  isGone,
  isLoading,
  mightChange,
  viewsOf
} from '../../jupyterlab/ipywidgets';
import { beyondFirst, ranksBeyondFirst } from './displayLimit';
import { Choice, countParts, orderOf, WIDE } from '../lines/parts';
import { ICellOutput, shapeOf } from '../runs/cellOutput';
import { KernelFate } from './widgetKernels';
import { IWidgetNotes } from './widgetNotes';

/**
 * Hide outputs that the view displays itself, and label each display with its rank.
 *
 * @param area - the cell's output area.
 * @param choice - the ranks whose output is displayed.
 * @param ranks - all ranks.
 * @param all - display all of them, not only the first ones.
 * @param ended - ranks whose processes have ended: nothing responds to their widgets any more.
 * @param kernelOf - what has become of the kernel of the widget in the output of this index.
 * @returns the number of omitted displays, whether any is displayed, the number of widgets without a
 * model in any kernel, the ranks with widgets that no longer respond, those whose widgets have lost their
 * kernel, those whose notebook has none any more, and those with widgets that were not loaded before their processes
 * ended; and, for all these reasons, the ranks with widgets that take no input, but might seem to change still.
 */
export function markDisplays(
  area: CodeCell['outputArea'],
  output: ICellOutput,
  choice: Choice,
  ranks: readonly number[],
  all: boolean,
  ended: ReadonlySet<number>,
  kernelOf: (index: number) => KernelFate = () => 'here'
): { beyond: number; any: boolean } & IWidgetNotes {
  const rank = typeof choice === 'number' ? choice : null;
  const parts = countParts(output.lines, output.parts);
  const figures = new Map<number, number>();
  const { widgets, node } = area;
  /** Displays of ranks that are not hidden so far. */
  const displayed: { index: number; place: number }[] = [];
  const lifeless = noRanks();
  const still = noRanks();
  const unloaded = new Set<number>();
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
      const kernel = kernelOf(i);
      const isCut = isOver || kernel !== 'here';
      const controls = controlsOf(widget);
      const lost = controls.filter(c => isCut || isDisconnected(c));
      controls.forEach(c => c.toggleAttribute('inert', lost.includes(c)));
      const hasIcon = viewsOf(widget).some(isDisconnected);
      const stops = !lost.length && (isCut || hasIcon) && mightChange(widget);
      const why = isOver
        ? 'dead'
        : kernel === 'ended'
          ? 'noKernel'
          : 'disconnected';
      widget.node.toggleAttribute(
        'data-dtrain-disabled',
        hasIcon || !!lost.length
      );
      widget.node.toggleAttribute('data-dtrain-still', stops);
      if (isCut && isLoading(widget)) {
        // it would say so forever
        hides = true;
        if (isOver) {
          unloaded.add(place);
        } else {
          gone++;
        }
      } else if (lost.length) {
        lifeless[why].add(place);
      } else if (stops) {
        still[why].add(place);
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
  return {
    beyond: later.length,
    any,
    gone,
    ...sorted(lifeless),
    unloaded: [...unloaded].sort((a, b) => a - b),
    still: sorted(still)
  };
}

/** Ranks, by why their widgets no longer respond. */
type ByReason<T> = Record<'dead' | 'disconnected' | 'noKernel', T>;

function noRanks(): ByReason<Set<number>> {
  return { dead: new Set(), disconnected: new Set(), noKernel: new Set() };
}

function sorted(some: ByReason<Set<number>>): ByReason<number[]> {
  const list = (ranks: Set<number>): number[] =>
    [...ranks].sort((a, b) => a - b);
  return {
    dead: list(some.dead),
    disconnected: list(some.disconnected),
    noKernel: list(some.noKernel)
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
