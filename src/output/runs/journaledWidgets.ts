import { IOutput } from '@jupyterlab/nbformat';

import { IItem } from '../lines/items';
import { WIDGET } from './cellOutput';

/** Maximum number of kept characters of a widget's text; the beginning is only in the journal. */
const MOST = 1 << 20;

type Content = Readonly<Record<string, unknown>> | null;

/** The Output widget that captured an entry of the journal; null for other entries. */
export function capturerOf(content: Content): string | null {
  const transient = content?.transient as { inside?: string } | undefined;
  return transient?.inside ?? null;
}

/**
 * What Output widgets capture.
 *
 * A page stores it in the widget's state, where a reloaded page finds it: the widget shows it. What no page has stored
 * is shown after the other output. Displays that a widget draws again and again, as rich's progress bars, take the
 * widget's place until a page has stored them: the widget itself would show what it had captured before.
 */
export class Captured {
  /** What no page has stored in its widget's state: lines and displays. */
  get kept(): IItem[] {
    return [...this._kept.values()].flat().flatMap(asLines);
  }

  /** Note that a rank clears a widget. Its next output there clears it. */
  clear(rank: number, widget: string): void {
    this._clears.set(rank, widget);
  }

  /** Keep text or a display until a page has stored it. */
  keep(widget: string, item: IItem): void {
    const [rank] = item.ranks;
    const key = `${rank} ${widget}`;
    if (this._clears.get(rank) === widget) {
      this._clears.delete(rank);
      this._kept.delete(key);
      this._drawn.get(key)?.forEach(blanked);
    }
    const kept = this._kept.get(key) ?? [];
    const last = kept[kept.length - 1];
    if (item.text !== undefined && last?.name === item.name) {
      last.text = `${last.text}${item.text}`.slice(-MOST);
    } else {
      this._kept.set(key, [...kept, item]);
    }
  }

  /** Change a display that is kept. */
  update(rank: number, id: string | undefined, display: IOutput): void {
    const same = [...this._kept.values()]
      .flat()
      .filter(item => id && item.id === id && item.ranks[0] === rank);
    same.forEach(item => (item.display = display));
  }

  /** Forget what a page has stored in a widget's state, or what was in a widget that is closed. */
  forget(rank: number, widget: string): void {
    const key = `${rank} ${widget}`;
    this._kept.delete(key);
    this._next.set(key, 0);
    for (const item of this._drawn.get(key) ?? []) {
      const view = this._views.get(item);
      if (view) {
        item.display = view;
      } else {
        blanked(item);
      }
    }
  }

  /**
   * Draw a captured display.
   *
   * @param items - all items; changed.
   * @returns whether it was drawn in the widget's place; otherwise it is kept, as its widget is never cleared.
   */
  draw(
    items: IItem[],
    rank: number,
    widget: string,
    display: IOutput,
    time: number,
    id?: string
  ): boolean {
    const key = `${rank} ${widget}`;
    const clears = this._clears.get(rank) === widget;
    const drawn = this._drawn.get(key)?.filter(item => items.includes(item));
    if (!drawn && !clears) {
      this.keep(widget, { ranks: [rank], time, display, id });
      return false;
    }
    const places = drawn ?? items.filter(item => shows(item, rank, widget));
    if (!drawn) {
      places.forEach(({ display }, i) => {
        this._views.set(places[i], display!);
      });
    }
    if (clears) {
      this._clears.delete(rank);
      this._kept.delete(key);
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
  /** Rank and widget → what it has captured, and no page has stored. */
  private _kept = new Map<string, IItem[]>();
  /** Rank and widget → which of these is drawn next. */
  private _next = new Map<string, number>();
  /** Item of which a captured display has taken the place → the view of its widget. */
  private _views = new WeakMap<IItem, IOutput>();
}

/** An item, whose text may be several lines. */
function asLines(item: IItem): IItem[] {
  const lines = item.text
    ?.replace(/\r\n/g, '\n')
    .replace(/\n$/, '')
    .split('\n');
  // of a line that was overwritten, the last text
  const last = (line: string): string => line.replace(/^.*\r(?=.)/, '');
  return lines?.map(text => ({ ...item, text: last(text) })) ?? [item];
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

/** The Output widget whose captured output a page has stored in the widget's state; null for other entries. */
export function takenBy(content: Content): string | null {
  const transient = content?.transient as { taken?: string } | undefined;
  return transient?.taken ?? null;
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
