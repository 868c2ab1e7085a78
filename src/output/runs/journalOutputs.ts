import { IOutput } from '@jupyterlab/nbformat';

import { components } from '../../api/types';
import { CellRecord } from '../../tokens';
import { addText, IItem, Items, rows } from '../lines/items';
import { rankSet } from '../../metrics/rankSets';
import { Parts } from '../lines/parts';
import { isBlank, kindOf, shapeOf } from './cellOutput';
import {
  byTime,
  Captured,
  capturerOf,
  clearClosed,
  closedWidget,
  isStored,
  takenBy
} from './journaledWidgets';
import { enameOf } from './storedRun';
import { overwrites, Screen } from '../lines/screen';
import { markText, trimmed } from '../lines/trim';

type Entry = components['schemas']['Output'];

/** The complete output of ranks. */
export interface IWhole {
  lines: { name: string; text: string; part: number }[];
  /** Rank → the part of each of its displays, in order. */
  displays: Map<number, number[]>;
}

const NONE: ReadonlySet<number> = new Set();

/** Converts the journal of a cell to notebook outputs: labelled lines, displays, progress, the failure. */
export class JournalOutputs {
  /** Add the next entries. */
  add(entries: readonly Entry[]): void {
    for (const entry of entries) {
      const rank = entry.ranks[0];
      if (this._ofWidget(rank, entry)) {
        continue;
      }
      this._clearNow(rank);
      if (entry.kind === 'clear_output') {
        this._clears.add(rank);
      } else if (entry.text !== null) {
        this._text(rank, entry.kind, entry.text, entry.time);
      } else if (entry.data && 'data' in entry.data) {
        this._display(rank, entry);
      }
    }
    if (!this._omitsNothing) {
      this._items.shorten();
    }
  }

  /**
   * Everything as outputs of a cell.
   *
   * @param gone - ranks whose processes, in which the cell ran, have ended.
   */
  outputs(record: CellRecord, gone: ReadonlySet<number> = NONE): IOutput[] {
    const outputs: IOutput[] = [];
    const ended = record.state === 'ended';
    const items = this._withLast(ended, gone);
    const { left, before } = this._items.omitted;
    const behind = this._items.all[before];
    items.forEach(item => {
      if (item === behind && left.lines) {
        addText(outputs, 'stdout', markText(left));
      }
      if (item.display) {
        outputs.push(item.display);
      } else {
        addText(
          outputs,
          item.name ?? 'stdout',
          `[${rankSet(item.ranks)}] ${item.text}\n`
        );
      }
    });
    for (const output of outputs) {
      if (output.output_type === 'stream') {
        output.text = trimmed(output.text as string) ?? output.text;
      }
    }
    const area = rows(this._texts, ended ? new Map() : this._bars());
    if (area.length) {
      const text = area.map(r => `[${rankSet(r.ranks)}] ${r.text}`).join('\n');
      outputs.push({
        output_type: 'display_data',
        data: { 'text/plain': text },
        metadata: { dtrain: { area } }
      });
    }
    if (record.result?.sentence) {
      outputs.push({
        output_type: 'error',
        ename: enameOf(record.result),
        evalue: record.result.sentence,
        traceback: [...record.result.traceback]
      });
    }
    return outputs;
  }

  /** All lines, without omissions; only if all were requested. */
  withoutOmissions(): this {
    this._omitsNothing = true;
    return this;
  }

  /** Lines as labelled text of each stream, in order, and the part of each line and display. */
  whole(gone: ReadonlySet<number> = NONE): IWhole {
    const items = this._withLast(true, gone).filter(
      ({ display }) => !display || !isBlank(display)
    );
    const displaying = items.filter(item => item.display);
    const parts = new Parts(new Set(displaying.map(item => item.ranks[0])));
    const whole: IWhole = { lines: [], displays: new Map() };
    for (const { ranks, name, text, display } of items) {
      if (display) {
        const before = whole.displays.get(ranks[0]) ?? [];
        whole.displays.set(ranks[0], [
          ...before,
          parts.display(ranks[0], shapeOf(kindOf(display)))
        ]);
      } else {
        whole.lines.push({
          name: name ?? 'stdout',
          text: `[${rankSet(ranks)}] ${text ?? ''}`,
          part: parts.text(ranks)
        });
      }
    }
    return whole;
  }

  /** Handle an entry about a widget, or text, an exception or a removal in one; returns whether it is one. */
  private _ofWidget(rank: number, { kind, text, data, time }: Entry): boolean {
    const closed = closedWidget(data);
    const over = closed ?? takenBy(data);
    const inside = capturerOf(data);
    if (over !== null) {
      this._captured.forget(rank, over, closed !== null);
      clearClosed(this._items.all, rank, closed);
    } else if (inside !== null && kind === 'clear_output') {
      this._captured.clear(rank, inside);
    } else if (inside !== null && text !== null) {
      const item = { ranks: [rank], time, name: kind, text };
      this._captured.keep(inside, item, isStored(data));
    } else if (inside !== null && kind === 'error') {
      const lines = data?.traceback as string[];
      const text = `${lines.join('\n')}\n`;
      const item = { ranks: [rank], time, name: 'stderr', text };
      this._captured.keep(inside, item, isStored(data));
    } else {
      return false;
    }
    return true;
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
        screen
          .settle()
          .forEach(line => this._items.addLine(rank, stream, line, time));
      }
    }
    const key = `${rank} ${name}`;
    const added = text.replace(/\r\n/g, '\n');
    const screen =
      this._screens.get(key) ?? (overwrites(added) ? new Screen() : null);
    const all = (this._tails.get(key) ?? '') + added;
    const lines = screen ? screen.feed(all) : all.split('\n');
    const tail = screen ? (screen.isPlain ? screen.rest : '') : lines.pop();
    lines.forEach(line => this._items.addLine(rank, name, line, time));
    this._tails.set(key, tail ?? '');
    if (screen && !screen.isPlain) {
      this._screens.set(key, screen);
    } else {
      this._screens.delete(key);
    }
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
    const { _items: items, _captured: captured } = this;
    const inside = capturerOf(entry.data);
    const id = transient?.display_id;
    const updates = entry.kind === 'update_display_data';
    if (updates) {
      captured.update(rank, id, display);
    }
    if (inside !== null && !updates) {
      items.change(all =>
        captured.draw(
          all,
          inside,
          { ranks: [rank], time: entry.time, display, id },
          isStored(entry.data)
        )
      );
    } else {
      items.addDisplay(rank, display, entry.time, id, updates);
    }
  }

  /** Cleared output of a rank is removed at its next output. */
  private _clearNow(rank: number): void {
    if (this._clears.delete(rank)) {
      this._texts.set(rank, '');
      this._items.removeDisplays(rank);
    }
  }

  /** All items, with what is only in Output widgets where it was printed, and at the end incomplete lines. */
  private _withLast(ended: boolean, gone: ReadonlySet<number>): IItem[] {
    const kept = this._captured.kept(gone);
    return [...byTime(this._items.all, kept), ...this._last(ended)];
  }

  /**
   * Text that ranks have printed without a line end. While the cell runs, a progress line is a bar instead.
   */
  private _last(ended: boolean): IItem[] {
    const items: IItem[] = [];
    for (const [key, tail] of this._tails) {
      const [rank, name] = key.split(' ');
      const bars = ended ? (this._screens.get(key)?.bars ?? []) : [];
      for (const text of [...bars, tail].filter(text => text.trim())) {
        items.push({ ranks: [Number(rank)], time: 0, name, text });
      }
    }
    return items;
  }

  /** Progress bars of ranks. */
  private _bars(): Map<number, string[]> {
    const barsOf = new Map<number, string[]>();
    for (const [key, { bars }] of [...this._screens].sort()) {
      const rank = Number(key.split(' ')[0]);
      barsOf.set(rank, [...(barsOf.get(rank) ?? []), ...bars]);
    }
    return barsOf;
  }

  private _captured = new Captured();
  private _clears = new Set<number>();
  private _items = new Items();
  private _omitsNothing = false;
  /** Rank and stream → what it may still overwrite. */
  private _screens = new Map<string, Screen>();
  /** Rank and stream → the beginning of a line. */
  private _tails = new Map<string, string>();
  /** Text of ranks that have cleared their output: everything they print may be overwritten. */
  private _texts = new Map<number, string>();
}
