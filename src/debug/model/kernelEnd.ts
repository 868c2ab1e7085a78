import { KernelMessage, Session } from '@jupyterlab/services';

type Connection = Pick<Session.ISessionConnection, 'statusChanged'>;

/** Reports the end or restart of a kernel. */
export class KernelEnd {
  constructor(private _ended: () => void) {}

  /** Watch this session's kernel instead of the previous one. */
  follow(connection: Connection | null): void {
    if (connection !== this._connection) {
      this._connection?.statusChanged.disconnect(this._heard, this);
      connection?.statusChanged.connect(this._heard, this);
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
