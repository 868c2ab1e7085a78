import { components } from '../../api/types';

type Failure = components['schemas']['Failure'];
type Frame = components['schemas']['Frame'];

/** A frame of a traceback: its place and lines. */
export interface IFrameText {
  /** Number of a cell, "[12]"; null for a file. */
  cell: string | null;
  file: string | null;
  line: number;
  /** Text after the place: ", in normalize". */
  inside: string;
  /** `here`: the line that raised. */
  lines: { text: string; here: boolean }[];
}

/**
 * Frames omitted at this position: those of libraries; `repeated`: equal to the one above; `left`: of very many, the
 * middle.
 */
export interface IFolded {
  folded: number;
  why?: 'repeated' | 'left';
}

/** An error of one or more ranks. */
export interface ITraceback {
  ranks: readonly number[];
  /** "ValueError: max() arg is an empty sequence". */
  what: string;
  /** Further lines of the message. */
  more: readonly string[];
  frames: readonly (IFrameText | IFolded)[];
  /** All frames, including those of libraries; null if only the kernel's text is known, which omits them. */
  all: readonly (IFrameText | IFolded)[] | null;
  /** Lines below the frames: the error's cause, its notes, a syntax error's place. */
  detail: readonly string[];
}

/** Width of the column of line numbers, the arrow included: as in the text that the notebook keeps. */
const MARGIN = 7;

/** Errors of ranks, from their cluster: each distinct traceback once. */
export function tracebacksOf(failures: readonly Failure[]): ITraceback[] {
  const groups = new Map<string, [Failure, number[]]>();
  for (const failure of failures) {
    if (failure.kind === 'raised') {
      const { type, message, frames, detail } = failure;
      const key = JSON.stringify([type, message, frames, detail]);
      const group = groups.get(key) ?? [failure, []];
      groups.set(key, group);
      group[1].push(failure.rank);
    }
  }
  return [...groups.values()].map(([failure, ranks]) => {
    const { type, message, detail } = failure;
    const [first, ...more] = message.split('\n');
    const all = failure.frames.flatMap(f => [frameOf(f), ...leftAfter(f)]);
    const frames: (IFrameText | IFolded)[] = [];
    failure.frames.forEach((frame, i) => {
      const last = frames[frames.length - 1];
      const count = leftAfter(frame).reduce((n, { folded }) => n + folded, 1);
      if (!frame.library || i === failure.frames.length - 1) {
        frames.push(frameOf(frame), ...leftAfter(frame));
      } else if (last && 'folded' in last && !last.why) {
        last.folded += count;
      } else {
        frames.push({ folded: count });
      }
    });
    const what = first ? `${type}: ${first}` : type;
    return { ranks, what, more, frames, all, detail };
  });
}

/** Frames that are left out after a frame. A head of an earlier version does not report them. */
function leftAfter({ repeated = 0, left = 0 }: Partial<Frame>): IFolded[] {
  const all: IFolded[] = [
    { folded: repeated, why: 'repeated' },
    { folded: left, why: 'left' }
  ];
  return all.filter(({ folded }) => folded > 0);
}

function frameOf(frame: Frame): IFrameText {
  const { cell, file, line, source, before } = frame;
  const name = frame.function;
  const lines = before.map((text, i) => ({
    text: `${line - before.length + i}`.padStart(MARGIN) + ` ${text}`,
    here: false
  }));
  if (source) {
    const arrow = '-'.repeat(Math.max(1, MARGIN - 2 - `${line}`.length));
    lines.push({ text: `${arrow}> ${line} ${source}`, here: true });
  }
  return {
    cell,
    file: cell === null ? file : null,
    line,
    inside: name && name !== '<module>' ? `, in ${name}` : '',
    lines
  };
}

/** Cell and line of a row that contains only these: "  cell [4], line 3"; null for any other row. */
export function placeIn(row: string): { cell: string; line: number } | null {
  const match = /^\s*cell (\[[^\]]+\]), line (\d+)$/.exec(row);
  return match ? { cell: match[1], line: Number(match[2]) } : null;
}

const HEAD = /^Ranks? (\d[\d, and–-]*): (.*)$/;
const PLACE = /^ {2}(?:cell (\[[^\]]+\]), line (\d+)|(\S.*):(\d+))(, in .*)?$/;
const FOLDED = /^ {2}… (\d+) library frames?$/;
const REPEATED = /^ {2}… the frame above repeated (\d+) more times?$/;
const LEFT = /^ {2}… (\d+) frames? left out$/;
const SOURCE = /^(-+> ?\d+|\s+\d+)(?: (.*))?$/;

/** The kernel's hint below all tracebacks, such as how ranks get a variable that they lack. */
const HINT = /^Hint: (\S.*)$/;

/** The kernel's hint at the end of its text on a failed cell; null if there is none. */
export function hintIn(rows: readonly string[]): string | null {
  const last = rows
    .flatMap(text => text.split('\n'))
    .filter(row => row.trim())
    .pop();
  return HINT.exec(last ?? '')?.[1] ?? null;
}

/**
 * Parse the kernel's text on a failed cell, below its sentence, without the hint at its end.
 *
 * For notebooks whose cluster has ended: a notebook keeps errors only as text. Text that can't be parsed is
 * displayed unchanged.
 */
export function parseTracebacks(rows: readonly string[]): ITraceback[] {
  const tracebacks: {
    ranks: number[];
    what: string;
    more: string[];
    frames: (IFrameText | IFolded)[];
    all: null;
    detail: string[];
  }[] = [];
  const hint = hintIn(rows);
  for (const row of rows.flatMap(text => text.split('\n'))) {
    if (hint !== null && row === `Hint: ${hint}`) {
      continue;
    }
    const last = tracebacks[tracebacks.length - 1];
    const head = HEAD.exec(row);
    if (head) {
      const ranks = ranksIn(head[1]);
      const what = head[2];
      tracebacks.push({
        ranks,
        what,
        more: [],
        frames: [],
        all: null,
        detail: []
      });
      continue;
    }
    if (!last) {
      continue;
    }
    const folded = FOLDED.exec(row);
    const place = PLACE.exec(row);
    const frame = last.frames[last.frames.length - 1];
    const source = SOURCE.exec(row);
    const repeated = REPEATED.exec(row);
    const left = LEFT.exec(row);
    if (repeated) {
      last.frames.push({ folded: Number(repeated[1]), why: 'repeated' });
    } else if (left) {
      last.frames.push({ folded: Number(left[1]), why: 'left' });
    } else if (folded) {
      last.frames.push({ folded: Number(folded[1]) });
    } else if (place) {
      last.frames.push({
        cell: place[1] ?? null,
        file: place[3] ?? null,
        line: Number(place[2] ?? place[4]),
        inside: place[5] ?? '',
        lines: []
      });
    } else if (source && frame && !('folded' in frame)) {
      frame.lines.push({ text: row, here: row.startsWith('-') });
    } else if (row.trim()) {
      (last.frames.length ? last.detail : last.more).push(row);
    }
  }
  return tracebacks;
}

/** Parse ranks such as "0, 2–3", or, in notebooks of earlier versions, "0, 2 and 3-4". */
function ranksIn(text: string): number[] {
  return [...text.matchAll(/(\d+)(?:[-–](\d+))?/g)].flatMap(match => {
    const first = Number(match[1]);
    const last = Number(match[2] ?? match[1]);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
}

/** A library's file as it is imported, "torch/nn/modules/conv.py"; any other file unchanged. */
export function importedPath(file: string): string {
  return file.replace(
    /^.*\/(?:(?:site|dist)-packages|lib\/python3[^/]*)\//,
    ''
  );
}
