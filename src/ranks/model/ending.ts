import { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

import { Cluster, ILiveState, ISelection } from '../../tokens';

/** How a cluster has ended, as far as its view has heard; kept with the layout of the page. */
export interface IEnding {
  /** Time at which it ended, ms; null while nobody has said. */
  at: number | null;
  /** Its state afterwards, as the panel shows it; null if the panel has not shown its end. */
  cluster: Cluster | null;
}

/**
 * Follows a cluster to its end, which the panel forgets once another one of that name starts, or the page is loaded
 * anew; the view stays.
 */
export class Ending implements IDisposable {
  /**
   * @param _model - all clusters.
   * @param _selection - those that the panel shows although they have ended.
   * @param _id - of the cluster.
   * @param _saved - what a page has known before it was loaded anew.
   */
  constructor(
    private _model: Pick<
      ILiveState,
      'at' | 'changed' | 'clusters' | 'endings' | 'isKnown' | 'link'
    >,
    private _selection: Pick<ISelection, 'changed' | 'ended'>,
    private _id: string,
    private _saved: IEnding | null
  ) {
    _model.changed.connect(this._look, this);
    _selection.changed.connect(this._look, this);
    this._look();
  }

  /** Emitted when `current` has changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Null while the cluster is there, or may be. */
  get current(): IEnding | null {
    return this._current;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    Signal.disconnectReceiver(this);
    Signal.clearData(this);
  }

  private _look(): void {
    const next = this._ending();
    const now = this._current;
    if (next?.at !== now?.at || next?.cluster !== now?.cluster) {
      this._current = next;
      this._changed.emit();
    }
  }

  private _ending(): IEnding | null {
    const { at, clusters, endings, isKnown, link } = this._model;
    if (clusters.some(({ id }) => id === this._id)) {
      this._wasThere = true;
      return null;
    }
    const shown = this._selection.ended.find(({ id }) => id === this._id);
    const known = this._current ?? this._saved;
    if (!shown && !known && (!isKnown || link === 'lost')) {
      return null;
    }
    const cluster = shown ?? known?.cluster ?? null;
    const said = cluster?.summary.values.at ?? endings[this._id]?.values.at;
    const noticed = known?.at ?? (this._wasThere ? at : null);
    return { cluster, at: typeof said === 'number' ? said * 1000 : noticed };
  }

  private _changed = new Signal<this, void>(this);
  private _current: IEnding | null = null;
  private _isDisposed = false;
  private _wasThere = false;
}

/** An ending that a page has saved; null if it can't be read, as that of another version. */
export function readEnding(saved: unknown): IEnding | null {
  const { at, cluster } = (saved ?? {}) as Partial<IEnding>;
  const isWhole = !!cluster?.id && !!cluster.summary.code;
  return typeof at === 'number' || isWhole
    ? {
        at: typeof at === 'number' ? at : null,
        cluster: isWhole ? cluster : null
      }
    : null;
}
