import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { IDisposable } from '@lumino/disposable';
import { Poll } from '@lumino/polling';
import { Signal } from '@lumino/signaling';

import { Frame, Link, Stopped } from '../tokens';
import { decode } from './frames';

/** Milliseconds before attempt n (from 0): 0.5 s doubling to 15 s, ± 20 %. */
export function backOff(attempt: number, random = Math.random()): number {
  return Math.min(15000, 500 * 2 ** attempt) * (0.8 + 0.4 * random);
}

/** The code with which a server that is being stopped closes its sockets. */
const GOING_AWAY = 1001;
/** Its reasons (`dtrain_lab/server/live.py`); a proxy in between may close with the same code and another one. */
const STOPPED: Readonly<Record<string, Stopped>> = {
  'stopped with clusters': 'with clusters',
  'stopped alone': 'alone'
};
/**
 * Silence after which a server that has sent frames counts as gone, ms; it repeats its last frame every 5 s.
 */
const SILENT_MS = 12_000;
/** The same before its first frame, for which it asks all clusters. */
const FIRST_SILENT_MS = 30_000;
/**
 * Interval between two checks for silence; two are required, so that a page that was busy or asleep reads
 * first.
 */
const LOOK_MS = 2_000;

/** The WebSocket `live`: reconnects by itself until it is disposed. */
export class Live implements IDisposable {
  readonly frame = new Signal<this, Frame>(this);
  readonly link = new Signal<this, Link>(this);

  constructor(private _settings: ServerConnection.ISettings) {
    window.addEventListener('offline', this._doubt);
    window.addEventListener('online', this._hope);
    this._connect();
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  /** Time of the next attempt; null while connected. */
  get retryAt(): number | null {
    return this._retryAt;
  }

  /** The server's announcement of its own end, until another one's first frame; null if it was not stopped. */
  get stopped(): Stopped | null {
    return this._stopped;
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
    window.removeEventListener('offline', this._doubt);
    window.removeEventListener('online', this._hope);
    clearTimeout(this._timer);
    this._looker.dispose();
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
    void this._looker.stop();
    this._seq = null;
    const socket = (this._socket = new settings.WebSocket(url));
    socket.onopen = () => {
      this._attempt = 0;
      this._heardAt = Date.now();
      this._doubted = false;
      void this._looker.start();
      this.link.emit('open');
    };
    socket.onmessage = event => {
      if (this._disposed || socket !== this._socket) {
        return;
      }
      this._heardAt = Date.now();
      this._doubted = false;
      const frame = decode(event.data);
      if (frame.seq !== this._seq) {
        this._seq = frame.seq;
        this._stopped = null; // not sooner: until then all that is known is from before
        this.frame.emit(frame);
      }
    };
    socket.onclose = event => {
      if (!this._disposed && socket === this._socket) {
        if (event.code === GOING_AWAY) {
          this._stopped = STOPPED[event.reason] ?? this._stopped;
        }
        this._lost();
      }
    };
  }

  /** Treat a silent server as gone: a dead network closes no socket. */
  private _look(): void {
    const limit = this._seq === null ? FIRST_SILENT_MS : SILENT_MS;
    const silent = Date.now() - this._heardAt > limit;
    if (silent && this._doubted) {
      this._socket?.close();
      this._lost();
    }
    this._doubted = silent;
  }

  /** The browser has lost the network: check the server, which may be on this machine. */
  private _doubt = (): void => {
    const socket = this._socket;
    const { baseUrl } = this._settings;
    if (socket === null) {
      return;
    }
    ServerConnection.makeRequest(
      URLExt.join(baseUrl, 'api'),
      {},
      this._settings
    ).catch(() => {
      if (!this._disposed && socket === this._socket) {
        socket.close();
        this._lost();
      }
    });
  };

  private _hope = (): void => this.reconnect();

  private _lost(): void {
    void this._looker.stop();
    this._socket = null;
    const delay = backOff(this._attempt++);
    this._retryAt = Date.now() + delay;
    this._timer = window.setTimeout(() => this._connect(), delay);
    this.link.emit('lost');
  }

  private _attempt = 0;
  private _disposed = false;
  /** Whether the last check found the server silent. */
  private _doubted = false;
  private _heardAt = 0;
  private _looker = new Poll({
    auto: false,
    name: 'dtrain-lab:live',
    factory: async () => this._look(),
    frequency: { interval: LOOK_MS, backoff: false },
    standby: 'never'
  });
  private _retryAt: number | null = null;
  /** Number of the last frame; null before the first one of a connection. */
  private _seq: number | null = null;
  private _socket: WebSocket | null = null;
  private _stopped: Stopped | null = null;
  private _timer = 0;
}
