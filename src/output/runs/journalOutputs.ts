import { IOutput } from '@jupyterlab/nbformat';

import { components } from '../../api/types';
import { CellRecord } from '../../tokens';
import { addText, IItem, lastState, rows } from '../lines/items';
import { rankSet } from '../../metrics/rankSets';
import { Parts } from '../lines/parts';
import { enameOf } from './storedRun';
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
/** A progress bar below another one: cursor down, the bar, cursor up. */
const NESTED = /(\n+)\r([^\n\r\u001b]*)((?:\u001b\[A)+)/g;

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
    const area = rows(this._texts, ended ? new Map() : this._bars);
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
    const key = `${rank} ${name}`;
    const bars = this._bars.get(rank) ?? new Map<number, string>();
    this._bars.set(rank, bars);
    const all = ((this._tails.get(key) ?? '') + text)
      .replace(/\r\n/g, '\n')
      .replace(NESTED, (_, down: string, bar: string) => {
        bars.set(down.length, bar);
        return '';
      })
      .replace(/\u001b\[A/g, '');
    const lines = all.split('\n');
    const tail = lines.pop() ?? '';
    for (const line of lines) {
      const final = lastState(line);
      if (line.includes('\r')) {
        bars.delete(0);
      }
      if (final.trim() || !line.includes('\r')) {
        this._line(rank, name, final, time);
      }
    }
    if (tail.includes('\r')) {
      const state = lastState(tail);
      if (state.trim()) {
        bars.set(0, state);
      } else {
        bars.clear();
      }
      this._tails.set(key, `\r${state}`);
    } else {
      this._tails.set(key, tail);
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
      if (!ended && tail.includes('\r')) {
        continue;
      }
      const [rank, name] = key.split(' ');
      const text = lastState(tail);
      if (text.trim()) {
        found.push({ ranks: [Number(rank)], time: 0, name, text });
      }
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

  private _bars = new Map<number, Map<number, string>>();
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
  private _tails = new Map<string, string>();
  /** Text of ranks that have cleared their output: everything they print may be overwritten. */
  private _texts = new Map<number, string>();
}
