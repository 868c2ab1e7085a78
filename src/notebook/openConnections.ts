import { Kernel } from '@jupyterlab/services';

type Connection = Pick<Kernel.IKernelConnection, 'id' | 'isDisposed'>;

/** Open connections to kernels: each notebook of a kernel has its own, which ends when the notebook is closed. */
export class OpenConnections<T extends Connection> {
  /**
   * Add a connection, and forget those that have ended.
   *
   * @returns whether it is new.
   */
  add(kernel: T): boolean {
    for (const each of this._open) {
      if (each.isDisposed) {
        this._open.delete(each);
      }
    }
    const isNew = !this._open.has(kernel);
    this._open.add(kernel);
    return isNew;
  }

  /** Whether a connection is the first open one to its kernel: what all of them hear is done once. */
  isFirst(kernel: T): boolean {
    const first = [...this._open].find(
      ({ id, isDisposed }) => id === kernel.id && !isDisposed
    );
    return first === kernel;
  }

  /** Number of connections that are remembered. */
  get size(): number {
    return this._open.size;
  }

  private _open = new Set<T>();
}
