import { Widget } from '@lumino/widgets';

import { DebugView } from '../model/model';
import { whoseVariables } from '../model/texts';
import { withAlarm, worldOf } from '../model/world';
import { IDebugWidgets } from './sectionWidgets';

/** Ms after which values count as those of the new rank: a kernel that gives none has said why by then. */
const WITHIN = 10_000;

/** The rank that is looked at, if it is paused: it has variables. */
function pausedFocus(view: DebugView | null, asked: number | null) {
  const focus = asked ?? view?.focus ?? null;
  const phase = view?.ranks.find(rank => rank.rank === focus)?.phase;
  return view?.on && phase === 'paused' ? focus : null;
}

/** A line above JupyterLab's variables, which says whose they are, or that they are still the rank's before. */
export class WhoseVariables extends Widget {
  constructor(
    private _args: Pick<IDebugWidgets, 'model' | 'clusters' | 'debug' | 'trans'>
  ) {
    super();
    this.addClass('jp-Dtrain');
    this.addClass('jp-DtrainDebug-whose');
    this.addClass('jp-DtrainUi-under');
    this.node.setAttribute('role', 'status');
    const { model, clusters, debug } = _args;
    clusters.changed.connect(this._tell, this);
    model.changed.connect(this._moved, this);
    debug.model.variables.changed.connect(this._came, this);
    this._moved();
  }

  override dispose(): void {
    window.clearTimeout(this._timer);
    this._mark(false);
    super.dispose();
  }

  private _moved(): void {
    const { model } = this._args;
    const rank = pausedFocus(model.view, model.asked);
    if (rank !== this._rank) {
      window.clearTimeout(this._timer);
      this._outdated = this._rank !== null && rank !== null;
      this._rank = rank;
      if (this._outdated) {
        this._timer = window.setTimeout(() => this._end(), WITHIN);
      }
    }
    this._tell();
  }

  /** JupyterLab has variables; before the kernel has changed its focus, they are the old ones. */
  private _came(): void {
    const { model, debug } = this._args;
    const asks = model.asked !== null && model.asked !== model.view?.focus;
    if (this._outdated && !asks && debug.model.variables.scopes.length) {
      this._end();
    } else {
      this._tell();
    }
  }

  private _end(): void {
    window.clearTimeout(this._timer);
    this._outdated = false;
    this._tell();
  }

  private _tell(): void {
    const { model, clusters, debug, trans } = this._args;
    const { view } = model;
    const shown = view && withAlarm(view, worldOf(clusters, view));
    const listed = debug.model.variables.scopes.length > 0;
    const text = this._outdated
      ? trans.__('Loading the variables of rank %1…', this._rank)
      : listed
        ? whoseVariables(shown, trans)
        : ''; // as after a cell: it would stand above nothing
    this.node.textContent = text;
    this.setHidden(!text);
    this._mark(this._outdated);
  }

  private _mark(outdated: boolean): void {
    this.parent?.toggleClass('jp-DtrainDebug-outdated', outdated);
    this.parent?.node.setAttribute('aria-busy', String(outdated));
  }

  /** The paused rank whose variables are shown, or are to be. */
  private _rank: number | null = null;
  private _outdated = false;
  private _timer = 0;
}
