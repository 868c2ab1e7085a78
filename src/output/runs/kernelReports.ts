import { KernelMessage } from '@jupyterlab/services';
import { ISignal, Signal } from '@lumino/signaling';

import { SummaryPart } from './outcome';

type Stop = SummaryPart['values'];

/** Number of runs of which reports are kept: once a cell has ended, the notebook has what is known of it. */
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

/** Requests that a notebook's kernel has begun to execute, as it has published it; those before are only queued. */
export class ExecutedRequests {
  /**
   * @param messages - what the notebook's kernel publishes.
   * @param _begun - called with the id of a request that the kernel begins to execute.
   */
  constructor(
    messages: ISignal<unknown, KernelMessage.IMessage>,
    private _begun: (request: string) => void
  ) {
    messages.connect(this._see, this);
  }

  dispose(): void {
    Signal.disconnectReceiver(this);
  }

  /** Whether the kernel has begun to execute this request. */
  has(request: string | null): boolean {
    return request !== null && this._requests.has(request);
  }

  private _see(_: unknown, message: KernelMessage.IMessage): void {
    const { msg_id } = message.parent_header as Partial<KernelMessage.IHeader>;
    if (!KernelMessage.isExecuteInputMsg(message) || !msg_id) {
      return;
    }
    this._requests.add(msg_id);
    const [oldest] = this._requests;
    if (this._requests.size > MOST) {
      this._requests.delete(oldest);
    }
    this._begun(msg_id);
  }

  private _requests = new Set<string>();
}
