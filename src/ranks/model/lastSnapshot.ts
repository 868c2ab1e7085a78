import { IDisposable } from '@lumino/disposable';

import { ENDING } from '../../api/states';
import { Cluster, ILiveState, IPoint } from '../../tokens';

/** A cluster and its metrics at one time. */
export interface ISnapshot {
  cluster: Cluster;
  points: readonly IPoint[];
  /** ms. */
  at: number;
}

/**
 * The last state of a cluster that has come from the server. It outlasts the cluster, whose metrics the live state then
 * forgets; of an ending cluster it has the last activity of the ranks.
 */
export class LastSnapshot implements IDisposable {
  /**
   * @param _model - all clusters, with their metrics.
   * @param _id - of the cluster.
   */
  constructor(
    private _model: Pick<
      ILiveState,
      'at' | 'changed' | 'clusters' | 'history' | 'link'
    >,
    private _id: string
  ) {
    _model.changed.connect(this._look, this);
    this._look();
  }

  /** Null before the first one. */
  get current(): ISnapshot | null {
    return this._current;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    this._model.changed.disconnect(this._look, this);
  }

  private _look(): void {
    const { link, clusters, at } = this._model;
    const cluster = clusters.find(c => c.id === this._id);
    if (!cluster || link === 'lost') {
      return;
    }
    const before = this._current;
    this._current =
      before && ENDING.includes(cluster.state)
        ? { ...before, cluster: { ...cluster, ranks: before.cluster.ranks } }
        : { cluster, points: [...this._model.history(this._id)], at };
  }

  private _current: ISnapshot | null = null;
  private _isDisposed = false;
}
