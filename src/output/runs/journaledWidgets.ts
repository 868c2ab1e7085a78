import { IOutput } from '@jupyterlab/nbformat';

import { IItem } from '../lines/items';
import { overwrites, Screen } from '../lines/screen';
import { WIDGET } from './cellOutput';

/** Maximum number of kept characters of a line of a widget's text; its beginning is only in the journal. */
const MOST = 1 << 20;
/** Maximum number of kept texts and displays of a widget; earlier ones are only in the journal. */
const MOST_KEPT = 10_000;

type Content = Readonly<Record<string, unknown>> | null;

/** The Output widget that captured an entry of the journal; null for other entries. */
export function capturerOf(content: Content): string | null {
  const transient = content?.transient as { inside?: string } | undefined;
  return transient?.inside ?? null;
}

/** Whether the rank itself stores in the widget's state what an entry says that the widget captures. */
export function isStored(content: Content): boolean {
  const transient = content?.transient as { stored?: boolean } | undefined;
  return !!transient?.stored;
}

/**
 * What Output widgets capture.
 *
 * A page, or the rank, stores it in the widget's state, where a reloaded page finds it: the widget shows it. What is
 * not stored, or was in a widget of a process that has ended, is shown where it was printed. Displays that a widget draws again and again, as rich's progress bars, take the
 * widget's place until a page has stored them: the widget itself would show what it had captured before.
 */
export class Captured {
  /**
   * What no widget shows: lines and displays.
   *
   * @param gone - ranks whose processes have ended, and their widgets with them.
   */
  kept(gone: ReadonlySet<number>): IItem[] {
    const lost = [...this._stored.values()].filter(([item]) =>
      gone.has(item?.ranks[0])
    );
    return [...lost, ...this._kept.values()].flatMap(asLines);
  }

  /** Note that a rank clears a widget. Its next output there clears it. */
  clear(rank: number, widget: string): void {
    this._clears.set(rank, widget);
  }

  /**
   * Keep text or a display until it is stored.
   *
   * @param stored - whether the rank itself stores it.
   */
  keep(widget: string, item: IItem, stored: boolean): void {
    const [rank] = item.ranks;
    const key = `${rank} ${widget}`;
    if (this._clears.get(rank) === widget) {
      this._clears.delete(rank);
      this._kept.delete(key);
      this._stored.delete(key);
      this._undraw(key, stored);
    }
    const where = stored ? this._stored : this._kept;
    const kept = where.get(key) ?? [];
    const last = kept[kept.length - 1];
    const open = last?.text !== undefined && !last.text.endsWith('\n');
    if (open && last.name === item.name) {
      last.text = `${last.text}${item.text}`.slice(-MOST);
    } else {
      kept.push(item);
    }
    if (kept.length > MOST_KEPT) {
      kept.splice(0, MOST_KEPT / 2);
    }
    where.set(key, kept);
  }

  /** Change a display that is kept. */
  update(rank: number, id: string | undefined, display: IOutput): void {
    const same = [...this._kept.values(), ...this._stored.values()]
      .flat()
      .filter(item => id && item.id === id && item.ranks[0] === rank);
    same.forEach(item => (item.display = display));
  }

  /**
   * Note that all that a widget has captured is stored in its state.
   *
   * @param closed - whether the widget is closed instead: nothing shows it any more.
   */
  forget(rank: number, widget: string, closed: boolean): void {
    const key = `${rank} ${widget}`;
    const kept = [
      ...(this._stored.get(key) ?? []),
      ...(this._kept.get(key) ?? [])
    ];
    this._kept.delete(key);
    this._stored.set(key, closed ? [] : kept.slice(-MOST_KEPT));
    this._next.set(key, 0);
    this._undraw(key, true);
  }

  /**
   * Draw a captured display.
   *
   * @param items - all items; changed.
   * @param stored - whether the rank itself stores it.
   * @returns whether it was drawn in the widget's place; otherwise it is kept, as its widget is never cleared.
   */
  draw(
    items: IItem[],
    widget: string,
    captured: IItem,
    stored: boolean
  ): boolean {
    const { time, display } = captured;
    const [rank] = captured.ranks;
    const key = `${rank} ${widget}`;
    const clears = this._clears.get(rank) === widget;
    const drawn = this._drawn.get(key)?.filter(item => items.includes(item));
    if (stored || (!drawn && !clears)) {
      this.keep(widget, captured, stored);
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
      this._stored.delete(key);
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

  /**
   * Remove what was drawn in a widget's place.
   *
   * @param shows - whether the widget is to be there again, as it shows what it has captured.
   */
  private _undraw(key: string, shows: boolean): void {
    for (const item of this._drawn.get(key) ?? []) {
      const view = this._views.get(item);
      if (view && shows) {
        item.display = view;
      } else if (item.display !== view) {
        blanked(item);
      }
    }
  }

  /** Rank → the widget that is cleared at its next output. */
  private _clears = new Map<number, string>();
  /** Rank and widget → what it has captured. */
  private _drawn = new Map<string, IItem[]>();
  /** Rank and widget → what it has captured, and no page has stored. */
  private _kept = new Map<string, IItem[]>();
  /** Rank and widget → what it has captured, and its state has. */
  private _stored = new Map<string, IItem[]>();
  /** Rank and widget → which of these is drawn next. */
  private _next = new Map<string, number>();
  /** Item of which a captured display has taken the place → the view of its widget. */
  private _views = new WeakMap<IItem, IOutput>();
}

/** What a widget has captured as displays and lines, of which overwritten ones are as a terminal shows them. */
function asLines(kept: readonly IItem[]): IItem[] {
  const found: IItem[] = [];
  /** Stream → what it may still overwrite, and its last text. */
  const screens = new Map<string | undefined, [Screen, IItem]>();
  for (const item of kept) {
    if (item.text === undefined) {
      found.push(item);
      continue;
    }
    const add = (text: string): number => found.push({ ...item, text });
    const text = item.text.replace(/\r\n/g, '\n');
    const screen =
      screens.get(item.name)?.[0] ?? (overwrites(text) ? new Screen() : null);
    screens.delete(item.name);
    if (!screen) {
      text.replace(/\n$/, '').split('\n').forEach(add);
      continue;
    }
    screen.feed(text).forEach(add);
    if (!screen.isPlain) {
      screens.set(item.name, [screen, item]);
    } else if (screen.rest) {
      add(screen.rest);
    }
  }
  for (const [screen, item] of screens.values()) {
    screen.bars.forEach(text => found.push({ ...item, text }));
  }
  return found;
}

/** Items in the order in which they were printed, with others among them. */
export function byTime(items: readonly IItem[], others: IItem[]): IItem[] {
  others.sort((a, b) => a.time - b.time);
  const found: IItem[] = [];
  let next = 0;
  for (const item of items) {
    while (next < others.length && others[next].time < item.time) {
      found.push(others[next++]);
    }
    found.push(item);
  }
  return [...found, ...others.slice(next)];
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
