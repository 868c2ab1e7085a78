import { Signal } from '@lumino/signaling';

import { IAdviceState } from '../../tokens';

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
    this.changed.emit();
  }

  isKept(id: string, diff: string): boolean {
    return this._kept.has(`${id}:${diff}`);
  }

  keep(id: string, diff: string, kept: boolean): void {
    toggle(this._kept, `${id}:${diff}`, kept);
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
}

/** Add a key to a set, or remove it. */
function toggle(keys: Set<string>, key: string, has: boolean): void {
  if (has) {
    keys.add(key);
  } else {
    keys.delete(key);
  }
}
