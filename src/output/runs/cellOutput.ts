import { CodeCell } from '@jupyterlab/cells';
import {
  isDisplayData,
  isDisplayUpdate,
  isError,
  isStream,
  IError,
  IOutput,
  IStream
} from '@jupyterlab/nbformat';

import { Signal } from '@lumino/signaling';

import { plain } from '../lines/ansi';
import { ILine, parseLines, parseRanks } from '../lines/lines';
import { Parts } from '../lines/parts';
import { FAILED, INTERRUPTED, STOPPED } from './run';
import { placeIn } from '../lines/traceback';
import {
  around,
  lastOfRanks,
  linesIn,
  shortLines,
  trimmed
} from '../lines/trim';

/** Characters of a cell's text that are read; the middle of more is left out. */
const MOST_TEXT = 200_000;

/** A row of the area that ranks overwrite: a progress bar, or text after `clear_output`. */
export interface IAreaRow {
  ranks: readonly number[];
  text: string;
}

/** Figures lie side by side; tables and widgets take the room that they need. */
export type DisplayKind = 'figure' | 'table' | 'widget';

/** What a distributed cell has put out, as its outputs have it. */
export interface ICellOutput {
  lines: readonly ILine[];
  /** Lines that were left out of the middle. */
  left: number;
  area: readonly IAreaRow[];
  /**
   * The sentence of a failure, and its tracebacks; null where there is none.
   *
   * `interrupted`: by the user, and by nothing else. `stopped`: since somebody stopped the cluster.
   */
  failure: {
    sentence: string;
    rows: readonly string[];
    interrupted: boolean;
    stopped?: boolean;
  } | null;
  /** Ranks that have put out anything, in order. */
  ranks: readonly number[];
  /** Layout of each output. */
  kinds: readonly DisplayKind[];
  /** Rank of each output that stays a picture; null for one that the view shows in its own way. */
  places: readonly (number | null | undefined)[];
  /** Part of each output that stays a picture, as `Parts` has them. */
  parts: readonly number[];
}

/** Does a cell go on by itself (`--no-wait`): its end says nothing of the ranks'? */
export function isDetached(source: string): boolean {
  return /^%%distributed\b[^\n]*\s--no-wait\b/.test(source);
}

/** What the magic of a cell asks for. */
export interface IMagic {
  /** The ranks that it names; null for all. */
  ranks: number[] | null;
  /** Does it ask for a block of output for each rank? */
  byRank: boolean;
}

/** Is this a cell of ranks, and what does its magic ask for? Null for another cell. */
export function magicOf(source: string): IMagic | null {
  const match = /^%%distributed\b([^\n]*)/.exec(source);
  if (!match) {
    return null;
  }
  const words = match[1].trim().split(/\s+/);
  const word = words.find(w => /^\d[\d,-]*$/.test(w));
  return {
    ranks: word ? parseRanks(word) : null,
    byRank: words.includes('--by-rank')
  };
}

/** Read a cell's outputs. */
export function readOutputs(cell: CodeCell): ICellOutput {
  const { outputs } = cell.model;
  const lines: ILine[] = [];
  const places: (number | null | undefined)[] = [];
  const kinds: DisplayKind[] = [];
  const area: IAreaRow[] = [];
  const seen = new Set<number>();
  let failure: ICellOutput['failure'] = null;
  let left = 0;
  const all = Array.from({ length: outputs.length }, (_, i) =>
    outputs.get(i).toJSON()
  );
  const told = new Parts(
    new Set(all.map(rankOf).filter(rank => rank !== null))
  );
  const parts: number[] = [];
  for (const output of all) {
    kinds.push(kindOf(output));
    const rank = rankOf(output);
    parts.push(rank === null ? 0 : told.display(rank));
    if (isStream(output)) {
      const text = Array.isArray(output.text)
        ? output.text.join('')
        : output.text;
      const [rest, gone] = around(text);
      const [shown, cut] = cutMiddle(shortLines(rest));
      left += gone + cut;
      for (const line of parseLines(shown, output.name === 'stderr')) {
        const part = told.text(line.ranks);
        lines.push(part ? { ...line, part } : line);
      }
      places.push(null);
    } else if (isError(output) && isOurs(output.ename)) {
      const [sentence, ...rows] = output.traceback;
      const interrupted = output.ename === INTERRUPTED;
      const stopped = output.ename === STOPPED;
      failure = { sentence, rows, interrupted, stopped };
      places.push(null);
    } else if (isError(output) && output.ename === REFUSED) {
      failure = refusedBy(output);
      places.push(failure ? null : undefined);
    } else if (isDisplayData(output) || isDisplayUpdate(output)) {
      const ours = output.metadata.dtrain as
        { rank?: number; area?: IAreaRow[] } | undefined;
      area.push(...(ours?.area ?? []));
      places.push(ours?.area || isBlank(output) ? null : ours?.rank);
      if (ours?.rank !== undefined) {
        seen.add(ours.rank);
      }
    } else {
      places.push(undefined);
    }
  }
  for (const row of [...lines, ...area]) {
    row.ranks.forEach(rank => seen.add(rank));
  }
  const ranks = [...seen].sort((a, b) => a - b);
  return { lines, left, area, failure, ranks, places, parts, kinds };
}

/** What the magic raises for a cell that it sends to no rank. */
const REFUSED = 'BadCell';

/** A syntax error: its place, the line and the caret, and what is wrong; null for what has no place. */
function refusedBy({ evalue, traceback }: IError): ICellOutput['failure'] {
  const rows = traceback.map(plain);
  return placeIn(rows[0] ?? '')
    ? { sentence: evalue, rows: rows.slice(0, -2), interrupted: false }
    : null;
}

function isOurs(name: string): boolean {
  return [FAILED, INTERRUPTED, STOPPED].includes(name);
}

/** The rank that displays an output; null where none does, or has cleared it. */
function rankOf(output: IOutput): number | null {
  if (!isDisplayData(output) && !isDisplayUpdate(output)) {
    return null;
  }
  const ours = output.metadata.dtrain as
    { rank?: number; area?: IAreaRow[] } | undefined;
  return ours?.area || isBlank(output) ? null : (ours?.rank ?? null);
}

/** Did the rank clear what stood here? */
function isBlank(output: IOutput): boolean {
  const data = (output.data as object | undefined) ?? {};
  return Object.values(data).every(value => value === '');
}

const IMAGE = /^image\//;
const WIDGET = 'application/vnd.jupyter.widget-view+json';

function kindOf(output: IOutput): DisplayKind {
  const types = Object.keys((output.data as object | undefined) ?? {});
  if (types.includes(WIDGET)) {
    return 'widget';
  }
  const image = types.some(type => IMAGE.test(type));
  return image && !types.includes('text/html') ? 'figure' : 'table';
}

/**
 * Leave out the middle of streams that are too long for a page, in the notebook that it shows and saves.
 *
 * @param shared - do other pages follow the notebook? They lose an output that is replaced, and follow changes
 * of the last one's text.
 */
export function trimOutputs(cell: CodeCell, shared: boolean): void {
  const { outputs } = cell.model;
  const first = shared ? Math.max(0, outputs.length - 1) : 0;
  for (let i = first; i < outputs.length; i++) {
    const model = outputs.get(i);
    if (model.type === 'stream') {
      const output = model.toJSON() as IStream;
      const text = Array.isArray(output.text)
        ? output.text.join('')
        : output.text;
      const short = trimmed(text);
      if (short !== null && shared && model.streamText) {
        const same = alike(text, short);
        model.streamText.remove(same, text.length);
        model.streamText.insert(same, short.slice(same));
      } else if (short !== null) {
        outputs.set(i, { ...output, text: short });
        // the cell's model stays connected to the text that was there, and would keep all of it
        if (model.streamText) {
          Signal.clearData(model.streamText);
        }
      }
    }
  }
}

/** How many characters two texts have in common at their beginning. */
function alike(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one.charAt(at) === other.charAt(at)) {
    at++;
  }
  return at;
}

function cutMiddle(text: string): [string, number] {
  if (text.length <= MOST_TEXT) {
    return [text, 0];
  }
  const first = text.lastIndexOf('\n', MOST_TEXT / 2) + 1;
  const last = text.indexOf('\n', text.length - MOST_TEXT / 2) + 1;
  const middle = text.slice(first, last);
  const kept = lastOfRanks(middle, text.slice(last));
  const cut = linesIn(middle) - linesIn(kept);
  return [text.slice(0, first) + kept + text.slice(last), cut];
}
