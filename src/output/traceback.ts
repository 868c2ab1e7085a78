/** A frame of a traceback: where, and its lines. */
export interface IFrameText {
  /** Number of a cell, "[12]"; null for a file. */
  cell: string | null;
  file: string | null;
  line: number;
  /** What follows the place: ", in normalize". */
  inside: string;
  /** `here`: the line that raised. */
  lines: { text: string; here: boolean }[];
}

/** Library frames that were left out at a place. */
export interface IFolded {
  folded: number;
}

/** What one or more ranks have raised. */
export interface ITraceback {
  /** "Rank 2", "Ranks 0, 2-3". */
  who: string;
  ranks: readonly number[];
  /** "ValueError: max() arg is an empty sequence". */
  what: string;
  /** More lines of the message. */
  more: readonly string[];
  frames: readonly (IFrameText | IFolded)[];
}

const HEAD = /^(All \d+ ranks|Ranks? (\d[\d, and–-]*)): (.*)$/;
const PLACE = /^ {2}(?:cell (\[[^\]]+\]), line (\d+)|(\S.*):(\d+))(, in .*)?$/;
const FOLDED = /^ {2}… (\d+) library frames?$/;
const SOURCE = /^(-+> ?\d+|\s+\d+)(?: (.*))?$/;

/** Read what the kernel has written of a failed cell, below its sentence. */
export function parseTracebacks(rows: readonly string[]): ITraceback[] {
  const found: {
    who: string;
    ranks: number[];
    what: string;
    more: string[];
    frames: (IFrameText | IFolded)[];
  }[] = [];
  for (const row of rows.flatMap(text => text.split('\n'))) {
    const last = found[found.length - 1];
    const head = HEAD.exec(row);
    if (head && (!last || last.frames.length || !row.startsWith(' '))) {
      const ranks = ranksIn(head[2] ?? '');
      found.push({
        who: dashed(head[1]),
        ranks,
        what: head[3],
        more: [],
        frames: []
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
    if (folded) {
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
    } else if (row.trim() && !last.frames.length) {
      last.more.push(row);
    }
  }
  return found;
}

/** Ranks of "0, 2-3" and of "0, 2 and 3". */
function ranksIn(text: string): number[] {
  return [...text.matchAll(/(\d+)(?:[-–](\d+))?/g)].flatMap(match => {
    const first = Number(match[1]);
    const last = Number(match[2] ?? match[1]);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
}

/**
 * A sentence on a failed cell, in two: who failed, and what became of the others. What was raised stands below.
 */
export function shortSentence(sentence: string): [string, string] {
  const match = /^((?:All \d+ ranks|Ranks? [\d, and–-]+) failed): /.exec(
    sentence
  );
  if (!match) {
    return [sentence, ''];
  }
  const rest = / (Ranks? [\d, and–-]+ (?:was|were) interrupted.*)$/.exec(
    sentence
  );
  return [`${dashed(match[1])}.`, dashed(rest?.[1] ?? '')];
}

/** Spans of ranks as the labels of lines have them: "Ranks 0–3". */
function dashed(text: string): string {
  return text.replace(/(\d)-(\d)/g, '$1–$2');
}

/** A file as the notebook's user knows it: below the server's root, where it can be opened. */
export function contentsPath(file: string, root: string): string | null {
  const end = `${root.replace(/^~/, '').replace(/\/$/, '')}/`;
  if (root.startsWith('~')) {
    const at = file.indexOf(end);
    return at > 0 ? file.slice(at + end.length) : null;
  }
  return root && file.startsWith(end) ? file.slice(end.length) : null;
}
