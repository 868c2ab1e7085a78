import { CodeCell } from '@jupyterlab/cells';
import {
  isDisplayData,
  isDisplayUpdate,
  isError,
  isStream,
  IError,
  IOutput
} from '@jupyterlab/nbformat';

import { plain, printable } from '../lines/ansi';
import { ILine, parseLines, parseRanks } from '../lines/lines';
import { DisplayShape, Parts } from '../lines/parts';
import { isSummaryPart, SummaryPart } from './outcome';
import { FAILED, INTERRUPTED, STOPPED } from './storedRun';
import { IOmitted, NOTHING, together } from '../lines/omitted';
import { placeIn } from '../lines/traceback';
import { betweenMarks, shortLines, withoutMiddle } from '../lines/trim';

/** Maximum characters of a cell's text that are read; beyond that, the middle is omitted. */
const MOST_TEXT = 200_000;

/** A row of the area that ranks overwrite: a progress bar, or text after `clear_output`. */
export interface IAreaRow {
  ranks: readonly number[];
  text: string;
}

/** Figures are side by side; tables and widgets take the width that they need. */
export type DisplayKind = 'figure' | 'table' | 'widget';

/** The output of a distributed cell, from its notebook outputs. */
export interface ICellOutput {
  lines: readonly ILine[];
  /** The lines that are omitted in the middle. */
  left: IOmitted;
  area: readonly IAreaRow[];
  /**
   * The sentence of a failure, and its tracebacks; null if there is none.
   *
   * `interrupted`: only by the user. `stopped`: because somebody stopped the cluster. `stop`: who, and when, in
   * notebooks of an earlier version. `refused`: the cluster has run it on no rank.
   */
  failure: {
    sentence: string;
    rows: readonly string[];
    interrupted: boolean;
    stopped?: boolean;
    refused?: boolean;
    stop?: SummaryPart['values'];
    /** The sentence in parts, where no record has them. */
    said?: readonly SummaryPart[];
  } | null;
  /** Ranks with output, in order. */
  ranks: readonly number[];
  /** Layout of each output. */
  kinds: readonly DisplayKind[];
  /** Rank of each output that stays a display; null for one that the view displays itself. */
  places: readonly (number | null | undefined)[];
  /** Part of each output that stays a display, as in `Parts`. */
  parts: readonly number[];
}

/** Our metadata of a display. */
interface IOurs {
  rank?: number;
  area?: IAreaRow[];
  /** Of an empty display: who has stopped the cluster, and when; in notebooks of an earlier version. */
  stop?: SummaryPart['values'];
  /** Of the sentence on how an earlier cell ended, below its output (`%distributed output`). */
  ended?: Pick<NonNullable<ICellOutput['failure']>, 'interrupted' | 'said'>;
}

/** Whether a cell runs in the background (`--no-wait`), so that its end is not that of the ranks. */
export function isDetached(source: string): boolean {
  return /^%%distributed\b[^\n]*\s--no-wait\b/.test(source);
}

/** Which command of a cell shows the output of an earlier one (`--no-wait`); null for other cells. */
export function showsEarlier(source: string): 'wait' | 'output' | null {
  const match = /^%distributed[ \t]+(wait|output)[ \t]*$/.exec(source.trim());
  return (match?.[1] ?? null) as 'wait' | 'output' | null;
}

/** Options of a cell's magic. */
export interface IMagic {
  /** Its ranks; null for all. */
  ranks: number[] | null;
  /** Whether it requests one block of output per rank. */
  byRank: boolean;
  /** Name or id of the cluster that it names; null for the notebook's. */
  cluster: string | null;
}

/** Options of a cell that shows output of ranks; null for other cells. */
export function magicOf(source: string): IMagic | null {
  if (showsEarlier(source)) {
    return { ranks: null, byRank: false, cluster: null };
  }
  const match = /^%%distributed\b([^\n]*)/.exec(source);
  if (!match) {
    return null;
  }
  const options = match[1].replace(/#.*/, ''); // the magic takes the rest as a comment
  const words = options.trim().split(/\s+/);
  const word = words.find(w => /^\d[\d,-]*$/.test(w));
  return {
    ranks: word ? parseRanks(word) : null,
    byRank: words.includes('--by-rank'),
    cluster: /(?:^|\s)--cluster[\s=]+["']?([^\s"']+)/.exec(options)?.[1] ?? null
  };
}

/** Parse a cell's outputs. */
export function readOutputs(cell: CodeCell): ICellOutput {
  const { outputs } = cell.model;
  const lines: ILine[] = [];
  const places: (number | null | undefined)[] = [];
  const kinds: DisplayKind[] = [];
  const area: IAreaRow[] = [];
  const seen = new Set<number>();
  let failure: ICellOutput['failure'] = null;
  let stop: SummaryPart['values'] | undefined;
  let left = NOTHING;
  let gap = 0;
  const all = Array.from({ length: outputs.length }, (_, i) =>
    outputs.get(i).toJSON()
  );
  const numbering = new Parts(
    new Set(all.map(rankOf).filter(rank => rank !== null))
  );
  const parts: number[] = [];
  for (const output of all) {
    const kind = kindOf(output);
    kinds.push(kind);
    const rank = rankOf(output);
    parts.push(rank === null ? 0 : numbering.display(rank, shapeOf(kind)));
    if (isStream(output)) {
      const text = Array.isArray(output.text)
        ? output.text.join('')
        : output.text;
      for (const shown of betweenMarks(cutMiddle(shortLines(text)))) {
        left = together(left, shown.left);
        gap += shown.left.lines ? 1 : 0;
        for (const line of parseLines(shown.text, output.name === 'stderr')) {
          const part = numbering.text(line.ranks);
          const at = { ...(part && { part }), ...(gap && { gap }) };
          lines.push(part || gap ? { ...line, ...at } : line);
        }
      }
      places.push(null);
    } else if (isError(output) && isOurs(output.ename)) {
      const [sentence, ...rows] = output.traceback;
      const interrupted = output.ename === INTERRUPTED;
      const stopped = output.ename === STOPPED;
      failure = { sentence, rows, interrupted, stopped };
      if (stopped && stop) {
        failure.stop = stop; // sent just before it
      }
      places.push(null);
    } else if (isError(output) && output.ename === REFUSED) {
      failure = refusedBy(output);
      places.push(failure ? null : undefined);
    } else if (isError(output) && output.ename === CONFLICT) {
      const why = output.traceback.map(plain).join(' ');
      const said = [{ code: 'not_run', values: { why } }];
      const what = { interrupted: false, refused: true, said };
      failure = { sentence: why, rows: [], ...what };
      places.push(null);
    } else if (isDisplayData(output) || isDisplayUpdate(output)) {
      const ours = output.metadata.dtrain as IOurs | undefined;
      stop = ours?.stop ?? stop;
      area.push(
        ...(ours?.area ?? []).map(row => ({
          ...row,
          text: printable(row.text)
        }))
      );
      if (ours?.ended) {
        const { interrupted, said } = ours.ended;
        const sentence = textOf(output);
        failure = { sentence, rows: [], interrupted: !!interrupted };
        if (Array.isArray(said) && said.every(isSummaryPart)) {
          failure.said = said;
        }
      }
      const shown = ours?.area || ours?.ended || isBlank(output);
      places.push(shown ? null : ours?.rank);
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

/** Errors that the magic raises for a cell that it sends to no rank. */
const REFUSED = 'BadCell';
/** The error with which a cluster refuses a cell, for example because a rank is lost. */
const CONFLICT = 'Conflict';

/** A syntax error: its place, line, caret and message; null if it has no place. */
function refusedBy({ evalue, traceback }: IError): ICellOutput['failure'] {
  const rows = traceback.map(plain);
  return placeIn(rows[0] ?? '')
    ? { sentence: evalue, rows: rows.slice(0, -2), interrupted: false }
    : null;
}

function isOurs(name: string): boolean {
  return [FAILED, INTERRUPTED, STOPPED].includes(name);
}

/** The rank that displays an output; null if none does, or if it was cleared. */
function rankOf(output: IOutput): number | null {
  if (!isDisplayData(output) && !isDisplayUpdate(output)) {
    return null;
  }
  const ours = output.metadata.dtrain as IOurs | undefined;
  return ours?.area || ours?.ended || isBlank(output)
    ? null
    : (ours?.rank ?? null);
}

/** The plain text of a display. */
function textOf(output: IOutput): string {
  const data = (output.data as Record<string, unknown> | undefined) ?? {};
  const text = data['text/plain'] ?? '';
  return Array.isArray(text) ? text.join('') : String(text);
}

/** Whether the rank has cleared this output. */
export function isBlank(output: IOutput): boolean {
  const data = (output.data as object | undefined) ?? {};
  return Object.values(data).every(value => value === '');
}

const IMAGE = /^image\//;
/** Types of charts and the like, to which their renderers add an image when they have drawn them. */
const DRAWN = /^(text\/html$|application\/vnd\.)/;
/** Type of a widget's view. */
export const WIDGET = 'application/vnd.jupyter.widget-view+json';

/** The place that a kind of display takes. */
export function shapeOf(kind: DisplayKind): DisplayShape {
  return kind === 'figure' ? 'figure' : 'wide';
}

/** The kind of a display. */
export function kindOf(output: IOutput): DisplayKind {
  const types = Object.keys((output.data as object | undefined) ?? {});
  if (types.includes(WIDGET)) {
    return 'widget';
  }
  const image = types.some(type => IMAGE.test(type));
  return image && !types.some(type => DRAWN.test(type)) ? 'figure' : 'table';
}

function cutMiddle(text: string): string {
  return text.length <= MOST_TEXT ? text : withoutMiddle(text, MOST_TEXT / 2);
}
