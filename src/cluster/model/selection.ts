import { Signal } from '@lumino/signaling';

import {
  Cluster,
  ILiveState,
  ICurrentNotebook,
  ISelection
} from '../../tokens';
import { attachedTo, usedBy } from './notebookCluster';
import { noteRuns, stillEnded } from './endedRuns';

/**
 * Selection of this page. Created right after the clusters, so that it is notified of changes before views.
 */
export class Selection implements ISelection {
  readonly changed = new Signal<this, void>(this);

  constructor(private _clusters: ILiveState) {
    _clusters.changed.connect(this._take, this);
  }

  get cluster(): Cluster | null {
    const { clusters } = this._clusters;
    return (
      clusters.find(c => c.id === this._selected) ??
      this._ended.find(c => c.id === this._selected) ??
      this._ofNotebook() ??
      clusters[clusters.length - 1] ??
      null
    );
  }

  get current(): Cluster | null {
    const { path, startedAs, lastCluster } = this._notebook;
    const named = startedAs ?? path;
    const { clusters } = this._clusters;
    const own = named ? usedBy(clusters, named, lastCluster ?? null) : null;
    return own ?? this.cluster;
  }

  select(id: string): void {
    this._selected = id;
    this.changed.emit();
  }

  /** Select a cluster that was just requested. */
  begin(id: string): void {
    this.select(id);
  }

  get ended(): readonly Cluster[] {
    return this._ended;
  }

  forget(id: string): void {
    this._ended = this._ended.filter(c => c.id !== id);
    this.changed.emit();
  }

  get rank(): number | null {
    return this._rank;
  }

  selectRank(rank: number | null): void {
    this._rank = rank;
    this.changed.emit();
  }

  get notebook(): ICurrentNotebook {
    return this._notebook;
  }

  setNotebook(notebook: ICurrentNotebook): void {
    const { path, startedAs, lastCluster, kernel, lacks } = this._notebook;
    const same =
      path === notebook.path &&
      startedAs === notebook.startedAs &&
      lastCluster === notebook.lastCluster &&
      kernel === notebook.kernel &&
      lacks === notebook.lacks;
    if (!same) {
      const shown = this.cluster?.id ?? null;
      const used = this._ofNotebook() !== null;
      this._notebook = notebook;
      if (path !== notebook.path) {
        this._own = null;
        this._follow();
        if (used && !this._ofNotebook()) {
          // a notebook without a cluster doesn't change the selection
          this._selected = shown;
        }
        if (!this._ofNotebook()) {
          // its own cluster has been stopped, which can be started again
          this._selected = this._among(this._ended)?.id ?? this._selected;
        }
      }
      this.changed.emit();
    }
  }

  /** The cluster of the current notebook; null if it uses none. */
  private _ofNotebook(): Cluster | null {
    return this._among(this._clusters.clusters);
  }

  private _among(clusters: readonly Cluster[]): Cluster | null {
    const { path, startedAs, lastCluster } = this._notebook;
    const named = startedAs ?? path;
    return named ? attachedTo(clusters, named, lastCluster ?? null) : null;
  }

  /** Follow the current notebook, or its new cluster; this overrides an earlier choice. */
  private _follow(): void {
    const own = this._ofNotebook()?.id ?? null;
    if (own && own !== this._own) {
      this._own = own;
      this._selected = null;
    }
  }

  /**
   * A cluster that ends while it is displayed stays selected, until another one starts; that of the notebook in
   * front stays then, too.
   */
  private _take(): void {
    const { clusters } = this._clusters;
    if (clusters === this._before) {
      return;
    }
    const shown = this._shownBefore();
    const left = this._among(this._before)?.id ?? null;
    const before = new Set(this._before.map(c => c.id));
    const now = Date.now() / 1000;
    noteRuns(this._ran, this._endingsShown, clusters);
    const known = this._ended;
    const { endings } = this._clusters;
    const gone = this._before;
    this._ended = stillEnded(known, gone, clusters, now, this._ran, endings);
    this._before = clusters;
    if (this._ended.some(c => c.id === shown)) {
      const begun = clusters.some(c => !before.has(c.id));
      const own = this._among(this._ended)?.id === shown;
      this._selected = begun && !own ? null : shown;
    } else if (!this._selected && left && !this._ofNotebook()) {
      // the notebook has left it, as when its kernel restarts: this selects no other cluster
      this._selected = clusters.some(c => c.id === left) ? left : null;
    }
    this._follow();
  }

  private _shownBefore(): string | null {
    const known = [...this._before, ...this._ended];
    const chosen = known.find(c => c.id === this._selected);
    const own = this._among(this._before);
    const last = this._before[this._before.length - 1];
    return (chosen ?? own ?? last)?.id ?? null;
  }

  private _before: readonly Cluster[] = [];
  private _ended: readonly Cluster[] = [];
  private _notebook: ICurrentNotebook = {
    path: null,
    kernel: null,
    lacks: false
  };
  /** Id of the cluster that the current notebook used last. */
  private _own: string | null = null;
  private _ran = new Set<string>();
  private _rank: number | null = null;
  private _endingsShown = new Set<string>();
  private _selected: string | null = null;
}
