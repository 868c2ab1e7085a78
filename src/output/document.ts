import { CodeCell } from '@jupyterlab/cells';
import { IOutput, IStream } from '@jupyterlab/nbformat';
import { JSONExt, JSONObject } from '@lumino/coreutils';

import { IRun, RUN_KEY } from './run';

/** Is this a cell of ranks, by its magic? */
export function isDistributed(cell: CodeCell): boolean {
  return /^%%distributed\b/.test(cell.model.sharedModel.getSource());
}

const DROPPED = /^IOPub (?:data|message) rate exceeded\./m;

/** Has the server said that it dropped output of this cell, which came faster than it passes on? */
export function isDropped(cell: CodeCell): boolean {
  const { outputs } = cell.model;
  return Array.from({ length: outputs.length }, (_, i) => outputs.get(i)).some(
    output =>
      output.type === 'stream' &&
      DROPPED.test(String((output.toJSON() as IStream).text))
  );
}

/** Id of the message by which this page runs a cell now; null where it does not. */
export function requestOf(cell: CodeCell): string | null {
  const future = cell.outputArea.future as
    CodeCell['outputArea']['future'] | undefined;
  return cell.model.executionState === 'running' && future && !future.isDisposed
    ? future.msg.header.msg_id
    : null;
}

/** Keep a run in the notebook, outside of what can be undone. */
export function write(cell: CodeCell, run: IRun): void {
  const value = run as unknown as JSONObject;
  const before = cell.model.getMetadata(RUN_KEY) as JSONObject | undefined;
  if (!JSONExt.deepEqual(before ?? null, value)) {
    cell.model.sharedModel.transact(() => {
      cell.model.setMetadata(RUN_KEY, value);
    }, false);
  }
}

/** Make outputs what they should be; those that are so already are not drawn again. */
export function put(cell: CodeCell, wanted: readonly IOutput[]): void {
  const { outputs } = cell.model;
  if (outputs.length > wanted.length) {
    outputs.fromJSON([...wanted]);
    return;
  }
  wanted.forEach((output, i) => {
    if (i >= outputs.length) {
      outputs.add(output);
    } else if (!JSONExt.deepEqual(outputs.get(i).toJSON(), output)) {
      outputs.set(i, output);
    }
  });
}
