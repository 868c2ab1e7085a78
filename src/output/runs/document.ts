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

type Future = CodeCell['outputArea']['future'];

/** Those of cells that another page has run since. */
const past = new WeakSet<Future>();

/** Id of the message by which this page runs a cell now; null where it does not. */
export function requestOf(cell: CodeCell): string | null {
  const future = futureOf(cell);
  const isOurs = future && !future.isDisposed && !past.has(future);
  return isOurs && cell.model.executionState === 'running'
    ? future.msg.header.msg_id
    : null;
}

/** Another page runs the cell now: what this one has asked for is over, which its future does not say. */
export function forgetRequest(cell: CodeCell): void {
  const future = futureOf(cell);
  if (future) {
    past.add(future);
  }
}

/** The future of the cell's last run by this page; undefined where there was none. */
function futureOf(cell: CodeCell): Future | undefined {
  return cell.outputArea.future as Future | undefined;
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
