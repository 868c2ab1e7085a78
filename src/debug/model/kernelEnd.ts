import { KernelMessage, Session } from '@jupyterlab/services';

type Connection = Pick<
  Session.ISessionConnection,
  'statusChanged' | 'disposed'
>;

/** Reports the end or restart of a kernel, and that its notebook was closed. */
export class KernelEnd {
  /**
   * @param _ended - called when the kernel ends or restarts.
   * @param _closed - called when the notebook is closed; its kernel goes on.
   */
  constructor(
    private _ended: () => void,
    private _closed: () => void = () => undefined
  ) {}

  /** Whether this session's kernel is watched. */
  isOf(connection: Connection | null): boolean {
    return connection === this._connection;
  }

  /** Watch this session's kernel instead of the previous one. */
  follow(connection: Connection | null): void {
    if (connection !== this._connection) {
      this._connection?.statusChanged.disconnect(this._heard, this);
      this._connection?.disposed.disconnect(this._closed);
      connection?.statusChanged.connect(this._heard, this);
      connection?.disposed.connect(this._closed);
      this._connection = connection;
    }
  }

  private _heard(_: unknown, status: KernelMessage.Status): void {
    if (ENDS.includes(status)) {
      this._ended();
    }
  }

  private _connection: Connection | null = null;
}

/** States in which a kernel's process ends. */
const ENDS: readonly KernelMessage.Status[] = [
  'restarting',
  'autorestarting',
  'terminating',
  'dead'
];
