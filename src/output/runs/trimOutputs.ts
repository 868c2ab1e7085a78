import { CodeCell } from '@jupyterlab/cells';
import { IStream } from '@jupyterlab/nbformat';
import { Signal } from '@lumino/signaling';

import { trimmed } from '../lines/trim';

/**
 * Omit the middle of streams that are too long, in the notebook that the page displays and saves.
 *
 * @param shared - whether other pages follow the notebook: they lose an output that is replaced, but follow
 * changes of the last one's text.
 */
export function trimOutputs(
  cell: Pick<CodeCell, 'model' | 'outputArea'>,
  shared: boolean
): void {
  const { outputs, sharedModel } = cell.model;
  const { notebook } = sharedModel;
  const untouched = !shared && notebook?.dirty === false;
  const first = shared ? Math.max(0, outputs.length - 1) : 0;
  for (let i = first; i < outputs.length; i++) {
    const model = outputs.get(i);
    if (model.type !== 'stream') {
      continue;
    }
    const output = model.toJSON() as IStream;
    const text = Array.isArray(output.text)
      ? output.text.join('')
      : output.text;
    const short = trimmed(text);
    const { streamText } = model;
    if (short !== null && shared && streamText) {
      const same = alike(text, short);
      streamText.remove(same, text.length);
      streamText.insert(same, short.slice(same));
    } else if (short !== null) {
      outputs.set(i, { ...output, text: short });
      if (streamText) {
        forgetText(streamText, cell);
      }
    }
  }
  if (untouched) {
    // nothing of the user's is to be saved, and a notebook that is only read can't be
    notebook.dirty = false;
  }
}

/**
 * Works around a leak of JupyterLab, seen in 4.2 to 4.6: a cell's model and its output area connect to the text of each
 * stream, and stay connected to one that was replaced, so that it stays in memory as long as the cell does. A cell that
 * prints without end would keep all that it has printed. Connections of others to that text are left alone.
 */
function forgetText(
  replaced: object,
  { model, outputArea }: Pick<CodeCell, 'model' | 'outputArea'>
): void {
  Signal.disconnectBetween(replaced, model);
  Signal.disconnectBetween(replaced, outputArea);
}

/** Length of the common prefix of two texts. */
function alike(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one.charAt(at) === other.charAt(at)) {
    at++;
  }
  return at;
}
