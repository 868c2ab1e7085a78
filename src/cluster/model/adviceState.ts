import { Signal } from '@lumino/signaling';

import { IAdviceState, ITriedAt } from '../../tokens';

/** Maximum number of remembered dismissals: ids of clusters are never reused. */
const MOST_DISMISSED = 200;

/** Advice that the user has dismissed or applied. */
export class AdviceState implements IAdviceState {
  readonly changed = new Signal<this, void>(this);

  isDismissed(id: string, advice: string): boolean {
    return this._dismissed.has(`${id}:${advice}`);
  }

  dismiss(id: string, advice: string, dismissed = true): void {
    toggle(this._dismissed, `${id}:${advice}`, dismissed);
    if (this._tried.get(id)?.advice === advice) {
      this._tried.delete(id);
    }
    this.changed.emit();
  }

  isKept(id: string, diff: string): boolean {
    return this._kept.has(`${id}:${diff}`);
  }

  keep(id: string, diff: string, kept: boolean): void {
    toggle(this._kept, `${id}:${diff}`, kept);
    this.changed.emit();
  }

  isTrying(id: string, advice: string): boolean {
    return this._trying.has(`${id}:${advice}`);
  }

  setTrying(id: string, advice: string, trying: boolean): void {
    toggle(this._trying, `${id}:${advice}`, trying);
    this.changed.emit();
  }

  lastTried(id: string): ITriedAt | null {
    return this._tried.get(id) ?? null;
  }

  setTried(id: string, tried: ITriedAt | null): void {
    if (tried) {
      this._tried.set(id, tried);
    } else if (!this._tried.delete(id)) {
      return;
    }
    this.changed.emit();
  }

  /** All dismissed advice, to be stored for a later page. */
  get dismissed(): readonly string[] {
    return [...this._dismissed].slice(-MOST_DISMISSED);
  }

  /** Restore what an earlier page has stored. */
  restoreDismissed(keys: readonly string[]): void {
    keys.forEach(key => this._dismissed.add(key));
    this.changed.emit();
  }

  private _dismissed = new Set<string>();
  private _kept = new Set<string>();
  private _trying = new Set<string>();
  private _tried = new Map<string, ITriedAt>();
}

/** Add a key to a set, or remove it. */
function toggle(keys: Set<string>, key: string, has: boolean): void {
  if (has) {
    keys.add(key);
  } else {
    keys.delete(key);
  }
}
