import { IOutput } from '@jupyterlab/nbformat';

import { components } from '../../api/types';
import { CellRecord } from '../../tokens';
import { addText, IItem, rows } from '../lines/items';
import { rankSet } from '../../metrics/rankSets';
import { Parts } from '../lines/parts';
import { enameOf } from './storedRun';
import { overwrites, Screen } from '../lines/screen';
import { MARK_TEXT, trimmed } from '../lines/trim';

type Entry = components['schemas']['Output'];

/** The complete output of ranks. */
export interface IWhole {
  lines: { name: string; text: string; part: number }[];
  /** Rank → the part of each of its displays, in order. */
  displays: Map<number, number[]>;
}

/** Equal lines that ranks print within this time are merged, s. */
const TOGETHER = 1;
/** Maximum number of kept lines; beyond that, the middle is only in the journal. */
const MOST = 40_000;

/** Converts the journal of a cell to notebook outputs: labelled lines, displays, progress, the failure. */
export class JournalOutputs {
  /** Add the next entries. */
  add(entries: readonly Entry[]): void {
    for (const entry of entries) {
      const rank = entry.ranks[0];
      this._clearNow(rank);
      if (entry.kind === 'clear_output') {
        this._clears.add(rank);
      } else if (entry.text !== null) {
        this._text(rank, entry.kind, entry.text, entry.time);
      } else if (entry.data && 'data' in entry.data) {
        this._display(rank, entry);
      }
    }
    this._shorten();
  }

  /** Everything as outputs of a cell. */
  outputs(record: CellRecord): IOutput[] {
    const found: IOutput[] = [];
    const ended = record.state === 'ended';
    const items = [...this._items, ...this._last(ended)];
    items.forEach((item, i) => {
      if (i === this._first && this._cut) {
        addText(found, 'stdout', MARK_TEXT(this._cut));
      }
      if (item.display) {
        found.push(item.display);
      } else {
        addText(
          found,
          item.name ?? 'stdout',
          `[${rankSet(item.ranks)}] ${item.text}\n`
        );
      }
    });
    for (const output of found) {
      if (output.output_type === 'stream') {
        output.text = trimmed(output.text as string) ?? output.text;
      }
    }
    const area = rows(this._texts, ended ? new Map() : this._bars());
    if (area.length) {
      const text = area.map(r => `[${rankSet(r.ranks)}] ${r.text}`).join('\n');
      found.push({
        output_type: 'display_data',
        data: { 'text/plain': text },
        metadata: { dtrain: { area } }
      });
    }
    if (record.result?.sentence) {
      found.push({
        output_type: 'error',
        ename: enameOf(record.result),
        evalue: record.result.sentence,
        traceback: [...record.result.traceback]
      });
    }
    return found;
  }

  /** All lines, without omissions; only if all were requested. */
  withoutOmissions(): this {
    this._omitsNothing = true;
    return this;
  }

  /** Lines as labelled text of each stream, in order, and the part of each line and display. */
  whole(): IWhole {
    const items = [...this._items, ...this._last(true)];
    const displaying = items.filter(item => item.display);
    const parts = new Parts(new Set(displaying.map(item => item.ranks[0])));
    const found: IWhole = { lines: [], displays: new Map() };
    for (const { ranks, name, text, display } of items) {
      if (display) {
        const before = found.displays.get(ranks[0]) ?? [];
        found.displays.set(ranks[0], [...before, parts.display(ranks[0])]);
      } else {
        found.lines.push({
          name: name ?? 'stdout',
          text: `[${rankSet(ranks)}] ${text ?? ''}`,
          part: parts.text(ranks)
        });
      }
    }
    return found;
  }

  private _text(rank: number, name: string, text: string, time: number): void {
    const cleared = this._texts.get(rank);
    if (cleared !== undefined) {
      this._texts.set(rank, cleared + text);
      return;
    }
    for (const [key, screen] of this._screens) {
      const [other, stream] = key.split(' ');
      if (Number(other) === rank && stream !== name) {
        screen.settle().forEach(line => this._line(rank, stream, line, time));
      }
    }
    const key = `${rank} ${name}`;
    const added = text.replace(/\r\n/g, '\n');
    const screen =
      this._screens.get(key) ?? (overwrites(added) ? new Screen() : null);
    const all = (this._tails.get(key) ?? '') + added;
    const lines = screen ? screen.feed(all) : all.split('\n');
    const tail = screen ? (screen.isPlain ? screen.rest : '') : lines.pop();
    lines.forEach(line => this._line(rank, name, line, time));
    this._tails.set(key, tail ?? '');
    if (screen && !screen.isPlain) {
      this._screens.set(key, screen);
    } else {
      this._screens.delete(key);
    }
  }

  /**
   * Add a line of a rank: as a new line, or merged with one that another rank has printed at about this time.
   */
  private _line(rank: number, name: string, text: string, time: number): void {
    const key = `${name} ${text}`;
    const behind = this._lasts.get(rank) ?? -1;
    const known = this._known.get(key) ?? [];
    for (let i = known.length - 1; i >= 0; i--) {
      const item = this._items[known[i]];
      if (known[i] <= behind || time - item.time > TOGETHER) {
        break;
      }
      if (!item.ranks.includes(rank)) {
        // merge with the earliest equal line that this rank lacks, so that its lines keep their order
        let first = i;
        while (
          first > 0 &&
          known[first - 1] > behind &&
          !this._items[known[first - 1]].ranks.includes(rank) &&
          time - this._items[known[first - 1]].time <= TOGETHER
        ) {
          first--;
        }
        this._items[known[first]].ranks.push(rank);
        this._lasts.set(rank, known[first]);
        return;
      }
    }
    const at = this._items.push({ ranks: [rank], time, name, text }) - 1;
    known.push(at);
    this._known.set(key, known);
    this._lasts.set(rank, at);
  }

  private _display(rank: number, entry: Entry): void {
    const data = entry.data?.data as Record<string, unknown>;
    const plain = Object.keys(data).join() === 'text/plain';
    if (entry.kind === 'execute_result' && plain) {
      this._text(rank, 'stdout', `${String(data['text/plain'])}\n`, entry.time);
      return;
    }
    const metadata = entry.data?.metadata as object | undefined;
    const transient = entry.data?.transient as
      { display_id?: string } | undefined;
    const display = {
      output_type: 'display_data',
      data,
      metadata: { ...metadata, dtrain: { rank } }
    } as IOutput;
    const id = transient?.display_id;
    const same = this._items.filter(
      item => id && item.id === id && item.ranks[0] === rank
    );
    same.forEach(item => (item.display = display));
    if (!same.length && entry.kind !== 'update_display_data') {
      const at =
        this._items.push({ ranks: [rank], time: entry.time, display, id }) - 1;
      this._lasts.set(rank, at);
    }
  }

  /** Cleared output of a rank is removed at its next output. */
  private _clearNow(rank: number): void {
    if (this._clears.delete(rank)) {
      this._texts.set(rank, '');
      this._items = this._items.filter(
        item => !(item.display && item.ranks[0] === rank)
      );
      this._index();
    }
  }

  /**
   * Text that ranks have printed without a line end. While the cell runs, a progress line is a bar instead.
   */
  private _last(ended: boolean): IItem[] {
    const found: IItem[] = [];
    for (const [key, tail] of this._tails) {
      const [rank, name] = key.split(' ');
      const bars = ended ? (this._screens.get(key)?.bars ?? []) : [];
      for (const text of [...bars, tail].filter(text => text.trim())) {
        found.push({ ranks: [Number(rank)], time: 0, name, text });
      }
    }
    return found;
  }

  /** Progress bars of ranks. */
  private _bars(): Map<number, string[]> {
    const found = new Map<number, string[]>();
    for (const [key, { bars }] of [...this._screens].sort()) {
      const rank = Number(key.split(' ')[0]);
      found.set(rank, [...(found.get(rank) ?? []), ...bars]);
    }
    return found;
  }

  private _shorten(): void {
    if (this._omitsNothing || this._items.length <= MOST) {
      return;
    }
    this._first = this._first || MOST / 4;
    const many = this._items.length - MOST / 2;
    const gone = this._items.slice(this._first, this._first + many);
    const stay = gone.filter(item => item.display);
    this._cut += gone.length - stay.length;
    this._items.splice(this._first, many, ...stay);
    this._index();
  }

  private _index(): void {
    this._known.clear();
    this._lasts.clear();
    this._items.forEach((item, at) => {
      item.ranks.forEach(rank => this._lasts.set(rank, at));
      if (item.text !== undefined) {
        const key = `${item.name} ${item.text}`;
        const known = this._known.get(key) ?? [];
        known.push(at);
        this._known.set(key, known);
      }
    });
  }

  private _clears = new Set<number>();
  /** Number of lines omitted at `_first`. */
  private _cut = 0;
  private _first = 0;
  private _items: IItem[] = [];
  private _omitsNothing = false;
  /** Stream and text → indices of such lines. */
  private _known = new Map<string, number[]>();
  /** Rank → index of its last item. */
  private _lasts = new Map<number, number>();
  /** Rank and stream → what it may still overwrite. */
  private _screens = new Map<string, Screen>();
  /** Rank and stream → the beginning of a line. */
  private _tails = new Map<string, string>();
  /** Text of ranks that have cleared their output: everything they print may be overwritten. */
  private _texts = new Map<number, string>();
}
