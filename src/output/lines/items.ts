import { IOutput } from '@jupyterlab/nbformat';

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
      const known = found.find(row => row.text === bar);
      if (known) {
        known.ranks.push(rank);
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
