import { CodeCell } from '@jupyterlab/cells';
import { INotebookTracker, NotebookActions } from '@jupyterlab/notebook';
import { Kernel } from '@jupyterlab/services';

import { isSetUp } from '../../jupyterlab/breakpointGutter';
import { isDistributed } from '../../output/runs/notebookDocument';
import { sendAtOnce } from '../model/kernelRequest';
import { IQueue } from './heldClicks';

type Queue = Pick<IQueue, 'busy' | 'idle'>;

/** Tells a kernel whether breakpoints are yet to come. */
type Tell = (pending: boolean) => void;

/**
 * Cells that are run while breakpoints are yet to be set.
 *
 * Between a click in the gutter and the request that sets the breakpoint, JupyterLab asks the kernel twice, and
 * further clicks wait for the one before. A cell that is run meanwhile would overtake them. So its kernel is told,
 * before it receives the cell, that breakpoints are to come, and again once they have been sent.
 */
export class HeldCells<Key extends object> {
  constructor(private _queue: Queue) {}

  /** Called right before a cell is run in a kernel. */
  begins(kernel: Key, tell: Tell): void {
    if (this._queue.busy && !this._told.has(kernel)) {
      this._told.add(kernel);
      tell(true);
      void this._sent(kernel, tell);
    }
  }

  private async _sent(kernel: Key, tell: Tell): Promise<void> {
    do {
      await this._queue.idle();
      // clicks that were held until now are made again in this turn
    } while (this._queue.busy);
    this._told.delete(kernel);
    tell(false);
  }

  /** Kernels in which cells wait. */
  private _told = new Set<Key>();
}

/** Have cells of ranks wait until the breakpoints that were clicked before them are set. */
export function holdCells(
  queue: Queue,
  tracker: Pick<INotebookTracker, 'find'>
): void {
  const held = new HeldCells<Kernel.IKernelConnection>(queue);
  NotebookActions.executionScheduled.connect((_, { notebook, cell }) => {
    const panel = tracker.find(({ content }) => content === notebook);
    const kernel = panel?.sessionContext.session?.kernel;
    const ofRanks = cell instanceof CodeCell && isDistributed(cell);
    // a kernel whose debugger is off would not have to wait
    if (kernel && ofRanks && isSetUp(notebook.node)) {
      held.begins(kernel, pending =>
        sendAtOnce(kernel, 'dtrain/sending', { pending })
      );
    }
  });
}
