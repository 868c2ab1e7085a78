import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import { Frame, Link } from '../tokens';
import { decode } from './frames';

/** Milliseconds before attempt n (from 0): 0.5 s doubling to 15 s, ± 20 %. */
export function backOff(attempt: number, random = Math.random()): number {
  return Math.min(15000, 500 * 2 ** attempt) * (0.8 + 0.4 * random);
}

/** The WebSocket `live`: connects again by itself until it is disposed. */
export class Live implements IDisposable {
  readonly frame = new Signal<this, Frame>(this);
  readonly link = new Signal<this, Link>(this);

  constructor(private _settings: ServerConnection.ISettings) {
    this._connect();
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  /** When the next attempt is made; null while connected. */
  get retryAt(): number | null {
    return this._retryAt;
  }

  /** Try now. */
  reconnect(): void {
    if (this._retryAt !== null) {
      clearTimeout(this._timer);
      this._connect();
    }
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    clearTimeout(this._timer);
    this._socket?.close();
    Signal.clearData(this);
  }

  private _connect(): void {
    const settings = this._settings;
    this._retryAt = null;
    let url =
      URLExt.join(settings.wsUrl, 'dtrain-lab', 'live') + '?ranks=columns';
    if (settings.appendToken && settings.token) {
      url += `&token=${encodeURIComponent(settings.token)}`;
    }
    const socket = (this._socket = new settings.WebSocket(url));
    socket.onopen = () => {
      this._attempt = 0;
      this.link.emit('open');
    };
    socket.onmessage = event => {
      this.frame.emit(decode(event.data));
    };
    socket.onclose = () => {
      if (this._disposed || socket !== this._socket) {
        return;
      }
      const delay = backOff(this._attempt++);
      this._retryAt = Date.now() + delay;
      this._timer = window.setTimeout(() => this._connect(), delay);
      this.link.emit('lost');
    };
  }

  private _attempt = 0;
  private _disposed = false;
  private _retryAt: number | null = null;
  private _socket: WebSocket | null = null;
  private _timer = 0;
}
