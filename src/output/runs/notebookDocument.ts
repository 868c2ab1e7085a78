import { CodeCell } from '@jupyterlab/cells';
import { IOutput, IStream } from '@jupyterlab/nbformat';
import { NotebookPanel } from '@jupyterlab/notebook';
import { Session } from '@jupyterlab/services';
import { JSONExt, JSONObject } from '@lumino/coreutils';

import { displayFirstUpdate } from '../../jupyterlab/cells';
import { serverRoot } from '../../locations/serverRoot';
import { INotebook, IRun, RUN_KEY } from './storedRun';

/** Whether this is a cell of ranks, by its magic. */
export function isDistributed(cell: CodeCell): boolean {
  return /^%%distributed\b/.test(cell.model.sharedModel.getSource());
}

const DROPPED = /^IOPub (?:data|message) rate exceeded\./m;

/** Whether the server reported that it dropped output of this cell, which came faster than its limit. */
export function isDropped(cell: CodeCell): boolean {
  const { outputs } = cell.model;
  return Array.from({ length: outputs.length }, (_, i) => outputs.get(i)).some(
    output =>
      output.type === 'stream' &&
      DROPPED.test(String((output.toJSON() as IStream).text))
  );
}

type Future = CodeCell['outputArea']['future'];

/** Futures of runs after which another page has run the cell. */
const past = new WeakSet<Future>();

/** Futures whose runs the kernel has ended. */
const over = new WeakSet<object>();

/** Note when the kernel ends the run that this page has started. */
export function watchEnd(cell: CodeCell): void {
  const future = futureOf(cell);
  if (future) {
    const end = (): void => void over.add(future);
    Promise.resolve(future.done).then(end, end);
  }
}

/**
 * Whether the kernel runs the cell for this page, whatever its model says: "Clear Cell Output" marks a cell that runs
 * as idle, too, although its outputs keep arriving.
 */
export function isUnderway(cell: CodeCell): boolean {
  const future = futureOf(cell);
  return (
    !!future && !future.isDisposed && !past.has(future) && !over.has(future)
  );
}

/**
 * Have the area that ranks overwrite, such as their progress bars, displayed again after the user has cleared it: the
 * kernel only sends updates of it, which JupyterLab ignores for a display that is not there.
 */
export function showAreaAgain(cell: CodeCell): void {
  const future = futureOf(cell);
  if (future) {
    displayFirstUpdate(
      future,
      ({ metadata }) =>
        !!(metadata.dtrain as { area?: unknown } | undefined)?.area
    );
  }
}

/** Id of the message by which this page runs a cell now; null if it does not. */
export function requestOf(cell: CodeCell): string | null {
  const future = futureOf(cell);
  const isOurs = future && !future.isDisposed && !past.has(future);
  return isOurs && cell.model.executionState === 'running'
    ? future.msg.header.msg_id
    : null;
}

/** Called when another page runs the cell: this page's run is over, although its future stays open. */
export function forgetRequest(cell: CodeCell): void {
  const future = futureOf(cell);
  if (future) {
    past.add(future);
  }
}

/** The future of the cell's last run by this page; undefined if there was none. */
function futureOf(cell: CodeCell): Future | undefined {
  return cell.outputArea.future as Future | undefined;
}

/** The properties of an open notebook from which its runs are known. */
export function notebookOf(
  { context, sessionContext }: NotebookPanel,
  sessions: Pick<Session.IManager, 'running'>
): INotebook {
  return {
    kernel: sessionContext.session?.kernel?.id ?? null,
    path: context.localPath,
    root: serverRoot(),
    elsewhere: kernel =>
      [...sessions.running()].some(
        s => s.kernel?.id === kernel && s.path !== context.path
      )
  };
}

/** Whether a cell has neither an output nor a number. */
export function isBare({ model }: CodeCell): boolean {
  return model.executionCount === null && !model.outputs.length;
}

/** Store a run in the notebook, outside of the undo history. */
export function write(cell: CodeCell, run: IRun): void {
  const value = run as unknown as JSONObject;
  const before = cell.model.getMetadata(RUN_KEY) as JSONObject | undefined;
  if (!JSONExt.deepEqual(before ?? null, value)) {
    cell.model.sharedModel.transact(() => {
      cell.model.setMetadata(RUN_KEY, value);
    }, false);
  }
}

/** Replace outputs; those that are already equal are not drawn again. */
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
