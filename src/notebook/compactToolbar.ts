import { NotebookPanel } from '@jupyterlab/notebook';
import { Widget } from '@lumino/widgets';

/** In a toolbar narrower than this, our items are icons only, px: JupyterLab's own items take about 550. */
const NARROW = 660;
const CLASS = 'jp-DtrainNotebook-narrow';

const all = new WeakMap<NotebookPanel, NarrowItems>();

/** Make our item narrow if its notebook's toolbar is. */
export function compactItem(
  panel: NotebookPanel,
  name: string,
  item: Widget
): void {
  const items = all.get(panel) ?? new NarrowItems(panel);
  all.set(panel, items);
  items.add(name, item);
}

/**
 * Our items in one notebook's toolbar. JupyterLab measures an item once, and moves what does not fit into a
 * menu. An item whose width has changed is taken out and put in again, so that JupyterLab measures it again.
 */
class NarrowItems {
  constructor(private _panel: NotebookPanel) {
    const observer = new ResizeObserver(([entry]) =>
      this._measure(entry.contentRect.width)
    );
    observer.observe(_panel.toolbar.node);
    _panel.disposed.connect(() => observer.disconnect());
  }

  add(name: string, item: Widget): void {
    this._items.set(name, item);
    item.toggleClass(CLASS, this._narrow);
    item.disposed.connect(() => this._items.delete(name));
  }

  private _measure(width: number): void {
    const narrow = width < NARROW;
    if (!width || narrow === this._narrow) {
      return;
    }
    this._narrow = narrow;
    const { toolbar } = this._panel;
    for (const [name, item] of this._items) {
      const at = [...toolbar.names()].indexOf(name);
      item.toggleClass(CLASS, narrow);
      // an item in the menu returns as soon as it fits
      if (at >= 0) {
        item.parent = null;
        toolbar.insertItem(at, name, item);
      }
    }
  }

  private _items = new Map<string, Widget>();
  private _narrow = false;
}
