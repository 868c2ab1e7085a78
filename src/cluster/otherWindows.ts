import { UUID } from '@lumino/coreutils';
import { IDisposable } from '@lumino/disposable';

/** Time in which another window answers that it has a notebook open, ms. */
const ANSWER_MS = 300;

/** A question to other windows, or an answer. */
interface IMessage {
  id: string;
  /** Of a question: notebooks by their paths for their kernels. */
  notebooks?: readonly string[];
}

/** The part of a `BroadcastChannel` that is used. */
export type Channel = Pick<
  BroadcastChannel,
  'postMessage' | 'onmessage' | 'close'
>;

/**
 * Decides which window of this browser tells what happens to notebooks: the one in which one of them is open; where none
 * has, any. Windows ask each other, because the server doesn't know what a page has open. Windows of another browser are
 * not asked: somebody else may look at them.
 */
export class OtherWindows implements IDisposable {
  /**
   * @param _channel - leads to the other windows of this browser and server; null if the browser has none.
   * @param _has - whether this window has a notebook open.
   */
  constructor(
    private _channel: Channel | null,
    private _has: (notebook: string) => boolean
  ) {
    if (_channel) {
      _channel.onmessage = ({ data }: MessageEvent<IMessage>) =>
        this._heard(data);
    }
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this._channel?.close();
      this._waiting.forEach(clearTimeout);
      this._waiting.clear();
    }
  }

  /** Tell something about notebooks, unless they are open in other windows only. */
  tell(notebooks: readonly string[], tell: () => void): void {
    if (!this._channel || !notebooks.length || notebooks.some(this._has)) {
      tell();
      return;
    }
    const id = UUID.uuid4();
    const unanswered = (): void => {
      this._waiting.delete(id);
      tell();
    };
    this._waiting.set(id, setTimeout(unanswered, ANSWER_MS));
    this._post({ id, notebooks });
  }

  private _heard({ id, notebooks }: IMessage): void {
    if (notebooks?.some(this._has)) {
      this._post({ id });
    } else if (!notebooks) {
      clearTimeout(this._waiting.get(id));
      this._waiting.delete(id);
    }
  }

  private _post(message: IMessage): void {
    this._channel?.postMessage(message);
  }

  private _isDisposed = false;
  /** Id of a question → what tells if nobody answers. */
  private _waiting = new Map<string, ReturnType<typeof setTimeout>>();
}

/** The channel to the other windows of a server's pages. */
export function channelOf(server: string): Channel | null {
  return typeof BroadcastChannel === 'undefined'
    ? null
    : new BroadcastChannel(`dtrain-lab:notices ${server}`);
}
