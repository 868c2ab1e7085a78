import { IOutput } from '@jupyterlab/nbformat';

import { countRanks, IOmitted, NOTHING, together } from './omitted';

/** Equal lines that ranks print within this time are merged, s. */
const TOGETHER = 1;
/** Maximum number of kept lines; beyond that, the middle is only in the journal. */
const MOST = 40_000;

/** An output of a rank: a line, or a display. */
export interface IItem {
  ranks: number[];
  time: number;
  name?: string;
  text?: string;
  display?: IOutput;
  id?: string;
}

/** A progress bar or other overwritten line, and its ranks; JSON, as in the saved notebook. */
export type Row = {
  ranks: number[];
  text: string;
};

/** Output that ranks overwrite: text of ranks that have cleared their output, then progress bars. */
export function rows(
  texts: ReadonlyMap<number, string>,
  bars: ReadonlyMap<number, readonly string[]>
): Row[] {
  const found: Row[] = [];
  for (const [rank, text] of [...texts].sort(([a], [b]) => a - b)) {
    if (text) {
      text
        .replace(/\n$/, '')
        .split('\n')
        .forEach(line => found.push({ ranks: [rank], text: line }));
    }
  }
  for (const [rank, own] of [...bars].sort(([a], [b]) => a - b)) {
    for (const bar of own) {
      const same = found.find(row => row.text === bar);
      if (same) {
        same.ranks.push(rank);
      } else {
        found.push({ ranks: [rank], text: bar });
      }
    }
  }
  return found;
}

export function addText(found: IOutput[], name: string, text: string): void {
  const before = found[found.length - 1];
  if (before?.output_type === 'stream' && before.name === name) {
    before.text = `${before.text as string}${text}`;
  } else {
    found.push({ output_type: 'stream', name, text });
  }
}

/** Lines and displays of ranks in order; equal lines that several ranks print at about the same time are one. */
export class Items {
  /** All items. `change` adds to them or removes from them. */
  get all(): readonly IItem[] {
    return this._items;
  }

  /** The lines that were omitted, and the item before which they were. */
  get omitted(): { left: IOmitted; before: number } {
    return { left: this._cut, before: this._first };
  }

  /**
   * Add a line of a rank: as a new line, or merged with one that another rank has printed at about this time.
   */
  addLine(rank: number, name: string, text: string, time: number): void {
    const key = keyOf(name, text);
    const behind = this._lasts.get(rank) ?? -1;
    const indices = this._known.get(key) ?? [];
    for (let i = indices.length - 1; i >= 0; i--) {
      const item = this._items[indices[i]];
      if (indices[i] <= behind || time - item.time > TOGETHER) {
        break;
      }
      if (!item.ranks.includes(rank)) {
        // merge with the earliest equal line that this rank lacks, so that its lines keep their order
        let first = i;
        while (
          first > 0 &&
          indices[first - 1] > behind &&
          !this._items[indices[first - 1]].ranks.includes(rank) &&
          time - this._items[indices[first - 1]].time <= TOGETHER
        ) {
          first--;
        }
        this._items[indices[first]].ranks.push(rank);
        this._lasts.set(rank, indices[first]);
        return;
      }
    }
    const at = this._items.push({ ranks: [rank], time, name, text }) - 1;
    indices.push(at);
    this._known.set(key, indices);
    this._lasts.set(rank, at);
  }

  /**
   * Add a display of a rank, or replace those that have its id.
   *
   * @param id - undefined for a display that no later one replaces.
   * @param updates - whether it only replaces others.
   */
  addDisplay(
    rank: number,
    display: IOutput,
    time: number,
    id: string | undefined,
    updates: boolean
  ): void {
    const same = this._items.filter(
      item => id && item.id === id && item.ranks[0] === rank
    );
    same.forEach(item => (item.display = display));
    if (!same.length && !updates) {
      const at = this._items.push({ ranks: [rank], time, display, id }) - 1;
      this._lasts.set(rank, at);
    }
  }

  /** Have a function change the items; it returns whether it has. */
  change(by: (items: IItem[]) => boolean): boolean {
    const changed = by(this._items);
    if (changed) {
      this._index();
    }
    return changed;
  }

  /** Remove the displays of a rank. */
  removeDisplays(rank: number): void {
    this._items = this._items.filter(
      item => !(item.display && item.ranks[0] === rank)
    );
    this._index();
  }

  /** Omit lines in the middle if there are too many; displays stay. */
  shorten(): void {
    if (this._items.length <= MOST) {
      return;
    }
    this._first = this._first || MOST / 4;
    const many = this._items.length - MOST / 2;
    const gone = this._items.slice(this._first, this._first + many);
    const stay = gone.filter(item => item.display);
    const lines = gone.filter(item => !item.display);
    this._cut = together(this._cut, countRanks(lines));
    this._items.splice(this._first, many, ...stay);
    this._index();
  }

  private _index(): void {
    this._known.clear();
    this._lasts.clear();
    this._items.forEach((item, at) => {
      item.ranks.forEach(rank => this._lasts.set(rank, at));
      if (item.text !== undefined) {
        const key = keyOf(item.name, item.text);
        const indices = this._known.get(key) ?? [];
        indices.push(at);
        this._known.set(key, indices);
      }
    });
  }

  private _cut = NOTHING;
  private _first = 0;
  private _items: IItem[] = [];
  /** Stream and text → indices of such lines. */
  private _known = new Map<string, number[]>();
  /** Rank → index of its last item. */
  private _lasts = new Map<number, number>();
}

function keyOf(name: string | undefined, text: string): string {
  return `${name} ${text}`;
}
