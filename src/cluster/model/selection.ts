import { Signal } from '@lumino/signaling';

import {
  Cluster,
  ILiveState,
  ICurrentNotebook,
  ISelection
} from '../../tokens';
import { needsAttention } from '../../verdicts/sentence';
import { attachedTo, usedBy } from './notebookCluster';
import {
  EndedStore,
  endedUnseen,
  forgetRuns,
  noteRuns,
  startedAfter,
  stillEnded
} from './endedRuns';

/** Selection of this page. It emits what a frame changes of it, so views need not hear of the frame after it. */
export class Selection implements ISelection {
  readonly changed = new Signal<this, void>(this);

  /**
   * @param _store - keeps clusters that have ended for a later page; null for none.
   */
  constructor(
    private _clusters: ILiveState,
    private _store: EndedStore | null = null
  ) {
    const kept = _store?.load();
    this._ended = this._restored = kept?.clusters ?? [];
    this._selected = kept?.shown ?? null;
    this._told = new Set(kept?.told);
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
    this._emit();
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
    this._ran.delete(id); // its end, if that is still to come, is not to be told
    this._emit();
  }

  get rank(): number | null {
    return this._rank;
  }

  selectRank(rank: number | null): void {
    this._rank = rank;
    this._emit();
  }

  get notebook(): ICurrentNotebook {
    return this._notebook;
  }

  setNotebook(notebook: ICurrentNotebook): void {
    const { path, startedAs, lastCluster, kernel, lacks, failure } =
      this._notebook;
    const same =
      path === notebook.path &&
      startedAs === notebook.startedAs &&
      lastCluster === notebook.lastCluster &&
      kernel === notebook.kernel &&
      lacks === notebook.lacks &&
      failure === notebook.failure;
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
        if (
          !this._ofNotebook() &&
          !this._clusters.clusters.some(needsAttention)
        ) {
          // its own cluster has been stopped, which can be started again
          const ended = this._among(this._ended)?.id ?? null;
          this._selected = ended ?? this._living() ?? this._selected;
        }
      } else if (lastCluster !== notebook.lastCluster) {
        // it may have chosen one to which it was attached before, so that no frame tells of it
        this._follow();
      }
      this._emit();
    }
  }

  /** The cluster of the notebook's next cell, in place of one that has ended and was another notebook's; else null. */
  private _living(): string | null {
    const { path, startedAs, lastCluster } = this._notebook;
    const named = startedAs ?? path;
    const isOver = this._ended.some(c => c.id === this._selected);
    const { clusters } = this._clusters;
    return named && isOver
      ? (usedBy(clusters, named, lastCluster ?? null)?.id ?? null)
      : null;
  }

  private _emit(): void {
    this._emitted = this._clustersNow();
    const shown = this._ended.some(c => c.id === this._selected);
    this._store?.save({
      clusters: this._ended,
      shown: shown ? this._selected : null,
      told: [...this._told]
    });
    this.changed.emit();
  }

  /** What a frame may change: the clusters that are selected, and those that have ended. */
  private _clustersNow(): readonly unknown[] {
    return [this.cluster?.id, this.current?.id, ...this._ended];
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
    const unseen = this._unseen();
    const known = [...unseen, ...this._ended];
    const { endings } = this._clusters;
    const gone = this._before;
    this._ended = stillEnded(known, gone, clusters, now, this._ran, endings);
    forgetRuns(this._ran, clusters);
    forgetRuns(this._endingsShown, clusters);
    this._before = clusters;
    if (this._ended.some(c => c.id === shown)) {
      const isNew = startedAfter(this._restored, shown);
      const begun = clusters.some(c => !before.has(c.id) && isNew(c));
      const own = this._among(this._ended)?.id === shown;
      this._selected = begun && !own ? null : shown;
    } else if (!this._selected && left && !this._ofNotebook()) {
      // the notebook has left it, as when its kernel restarts: this selects no other cluster
      this._selected = clusters.some(c => c.id === left) ? left : null;
    }
    this._follow();
    this._showUnseen(unseen);
    const shownNow = this._clustersNow();
    const same =
      shownNow.length === this._emitted.length &&
      shownNow.every((one, i) => one === this._emitted[i]);
    if (!same) {
      this._emit();
    }
  }

  /** Clusters that have ended while no page was open, the first time that they are to be told. */
  private _unseen(): Cluster[] {
    const { untold } = this._clusters;
    const known = new Set(this._ended.map(c => c.id));
    const news = untold.filter(
      ({ id }) => !known.has(id) && !this._told.has(id)
    );
    untold.forEach(({ id }) => this._told.add(id));
    return news.map(endedUnseen);
  }

  /** Select one that has ended unseen, where it was the notebook's in front, or where there is no other. */
  private _showUnseen(unseen: readonly Cluster[]): void {
    const listed = unseen.filter(c => this._ended.includes(c));
    const own = this._ofNotebook() ? null : this._among(listed);
    const last = this.cluster ? undefined : listed[listed.length - 1];
    this._selected = (own ?? last)?.id ?? this._selected;
  }

  private _shownBefore(): string | null {
    const past = [...this._before, ...this._ended];
    const chosen = past.find(c => c.id === this._selected);
    const own = this._among(this._before);
    const last = this._before[this._before.length - 1];
    return (chosen ?? own ?? last)?.id ?? null;
  }

  private _before: readonly Cluster[] = [];
  /** What was selected when `changed` was last emitted. */
  private _emitted: readonly unknown[] = [undefined, undefined];
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
  /** Clusters that ended before this page was loaded. */
  private _restored: readonly Cluster[] = [];
  private _endingsShown = new Set<string>();
  /** Ids of clusters that have ended unseen and were told. */
  private _told: Set<string>;
  private _selected: string | null = null;
}
