import { IOutput } from '@jupyterlab/nbformat';

import { IItem } from '../lines/items';
import { WIDGET } from './cellOutput';

type Content = Readonly<Record<string, unknown>> | null;

/** The Output widget that captured an entry of the journal; null for other entries. */
export function capturerOf(content: Content): string | null {
  const transient = content?.transient as { inside?: string } | undefined;
  return transient?.inside ?? null;
}

/**
 * Displays that an Output widget captures and draws again and again, as rich's progress bars: the latest ones take the
 * widget's place. What its rank displays elsewhere stays.
 */
export class CapturedDisplays {
  /** Note that a rank clears a widget. Its next output decides what is cleared. */
  clear(rank: number, widget: string): void {
    this._clears.set(rank, widget);
  }

  /** Whether a rank that has cleared a widget prints text instead, whose widget is not known. */
  becomesText(rank: number): boolean {
    return this._clears.delete(rank);
  }

  /**
   * Draw a captured display.
   *
   * @param items - all items; changed.
   * @returns whether it was drawn in the widget's place; false if its widget is never cleared.
   */
  draw(
    items: IItem[],
    rank: number,
    widget: string,
    display: IOutput,
    time: number
  ): boolean {
    const key = `${rank} ${widget}`;
    const clears = this._clears.get(rank) === widget;
    const drawn = this._drawn.get(key)?.filter(item => items.includes(item));
    if (!drawn && !clears) {
      return false;
    }
    const places = drawn ?? items.filter(item => shows(item, rank, widget));
    if (clears) {
      this._clears.delete(rank);
      places.forEach(blanked);
      this._next.set(key, 0);
    }
    const next = this._next.get(key) ?? 0;
    this._next.set(key, next + 1);
    if (places[next]) {
      places[next].display = display;
    } else {
      const before = places[places.length - 1];
      const at = before ? items.indexOf(before) + 1 : items.length;
      const item = { ranks: [rank], time, display };
      items.splice(at, 0, item);
      places.push(item);
    }
    this._drawn.set(key, places);
    return true;
  }

  /** Rank → the widget that is cleared at its next output. */
  private _clears = new Map<number, string>();
  /** Rank and widget → what it has captured. */
  private _drawn = new Map<string, IItem[]>();
  /** Rank and widget → which of these is drawn next. */
  private _next = new Map<string, number>();
}

/** Whether an item is a rank's view of a widget. */
function shows(
  { ranks, display }: IItem,
  rank: number,
  widget: string
): boolean {
  const data = display?.data as Content | undefined;
  const view = data?.[WIDGET] as { model_id: string } | undefined;
  return ranks[0] === rank && view?.model_id === widget;
}

/** The widget that an entry of the journal reports as closed by its rank; null for other entries. */
export function closedWidget(content: Content): string | null {
  const transient = content?.transient as { closed?: string } | undefined;
  return transient?.closed ?? null;
}

/** Clear the displays of a widget that its rank has closed: no kernel knows it any more. */
export function clearClosed(
  items: readonly IItem[],
  rank: number,
  widget: string | null
): void {
  for (const item of items) {
    const shown = item.display?.data as Content | undefined;
    const view = shown?.[WIDGET] as { model_id: string } | undefined;
    if (item.ranks[0] === rank && view?.model_id === widget) {
      blanked(item);
    }
  }
}

/** Clear a display, which keeps its place: outputs after it are not drawn again. */
function blanked(item: IItem): void {
  if (item.display) {
    item.display = { ...item.display, data: { 'text/plain': '' } };
  }
}
