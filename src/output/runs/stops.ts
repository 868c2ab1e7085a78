import { KernelMessage } from '@jupyterlab/services';
import { ISignal, Signal } from '@lumino/signaling';

import { SummaryPart } from './outcome';

type Stop = SummaryPart['values'];

/** Number of reports that are kept: once its cell has ended, the notebook has it. */
const MOST = 100;

/**
 * Who has stopped the clusters of a notebook's cells, and when, as its kernel reports it before the error.
 *
 * The report is an update of a display that does not exist: front ends ignore it, and no notebook keeps it. An
 * output of its own would be an empty block in whatever nbconvert makes of the notebook.
 */
export class Stops {
  /**
   * @param messages - what the notebook's kernel publishes.
   */
  constructor(messages: ISignal<unknown, KernelMessage.IMessage>) {
    messages.connect(this._see, this);
  }

  dispose(): void {
    Signal.disconnectReceiver(this);
  }

  /** What was reported to the run that this page has started by a message; undefined without a report. */
  of(request: string | undefined): Stop | undefined {
    return request === undefined ? undefined : this._stops.get(request);
  }

  private _see(_: unknown, message: KernelMessage.IMessage): void {
    if (!KernelMessage.isUpdateDisplayDataMsg(message)) {
      return;
    }
    const ours = message.content.metadata.dtrain as { stop?: Stop } | undefined;
    const { msg_id } = message.parent_header as Partial<KernelMessage.IHeader>;
    if (ours?.stop && msg_id) {
      this._stops.set(msg_id, ours.stop);
      const [oldest] = this._stops.keys();
      if (this._stops.size > MOST) {
        this._stops.delete(oldest);
      }
    }
  }

  private _stops = new Map<string, Stop>();
}
