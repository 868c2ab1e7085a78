import { KernelMessage } from '@jupyterlab/services';
import { ISignal, Signal } from '@lumino/signaling';

/** Number of requests that are kept: a cell that waits needs only its own. */
const MOST = 100;

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
