import { IDebugger } from '@jupyterlab/debugger';
import { ISignal, Signal } from '@lumino/signaling';

import { components } from '../../api/types';
import { ask, IAnswer, Refused } from './kernelRequest';
import { KernelEnd } from './kernelEnd';
import {
  AcrossRow,
  BEGINNING,
  differencesIn,
  IDifferences,
  Only,
  variablesOf
} from './compareVariables';

export type DebugView = components['schemas']['DebugView'];
export type RankView = components['schemas']['RankView'];
export type SetBreakpoint = components['schemas']['SetBreakpoint'];

/** Number of ranks from which they are grouped by place. */
export const MANY = 64;

/** The ranks under the notebook's debugger, as its kernel reports them. */
export class DebugModel {
  constructor(private _debugger: IDebugger) {
    _debugger.eventMessage.connect(this._heard, this);
    _debugger.sessionChanged.connect(this._ask, this);
    // of another notebook, or of one that was debugged before the page was loaded: there is no other signal
    _debugger.model.titleChanged.connect(this._titled, this);
  }

  /** Emitted when anything has changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** State of the ranks; null if this notebook's kernel has none to debug. */
  get view(): DebugView | null {
    return this._view;
  }

  /** Whether the notebook's debugger is on, also while no rank is attached. */
  get isStarted(): boolean {
    return !!this._debugger.session?.isStarted;
  }

  /** The compared expressions, with their last answers. */
  get rows(): readonly { expression: string; row: AcrossRow | null }[] {
    return this._expressions.map(expression => ({
      expression,
      row: this._rows.get(expression) ?? null
    }));
  }

  /** Focus this rank. */
  async focus(rank: number): Promise<void> {
    await this.send('dtrain/focus', { rank });
  }

  /** Send a request to the kernel's debugger; a refusal becomes an error with its message. */
  async send(
    command: string,
    args: Record<string, unknown>
  ): Promise<IAnswer | null> {
    const { session } = this._debugger;
    return session && ask(session, command, args);
  }

  /** Compare one more expression; an error if it is not valid Python. */
  async compare(expression: string): Promise<void> {
    const text = expression.trim();
    if (!text || this._expressions.includes(text)) {
      return;
    }
    this._expressions.push(text);
    this._changed.emit();
    const refused = await this._evaluate(text);
    if (refused?.code === UNREADABLE) {
      this.forget(text);
      throw refused;
    }
  }

  /** Compare these expressions instead, such as those of another notebook. */
  restore(expressions: readonly string[]): void {
    this._expressions = [...new Set(expressions)];
    this._rows.clear();
    this._latest.clear();
    this._expressions.forEach(each => void this._evaluate(each)); // if ranks are debugged
    this._changed.emit();
  }

  /** Variables of a paused rank's innermost frame that differ between ranks; null until requested. */
  get differences(): IDifferences | null {
    return this._differences;
  }

  /**
   * Compare the variables of a paused rank (the focused one, if it is paused) with those of the other ranks;
   * again at their next stop.
   */
  async compareVariables(): Promise<void> {
    const { ranks = [], focus = null } = this._view ?? {};
    const paused = ranks.filter(isPaused).map(r => r.rank);
    if (!paused.length) {
      return;
    }
    // an idle rank has no frame
    const rank = focus !== null && paused.includes(focus) ? focus : paused[0];
    const round = (this._round += 1);
    const goesOn = (): boolean => round === this._round;
    this._tellDifferences(BEGINNING);
    try {
      const names = await variablesOf((...asked) => this.send(...asked), rank);
      const only = await this._onlyOnSome();
      if (goesOn()) {
        await differencesIn(
          names,
          ranks.filter(r => r.phase !== 'gone').map(r => r.rank),
          only,
          name => this._across(name),
          found => this._tellDifferences(found),
          goesOn
        );
      }
    } catch (error) {
      if (goesOn()) {
        throw error;
      } // a failure of an older comparison is ignored: a newer one runs
    } finally {
      if (goesOn() && this._differences?.left) {
        this._tellDifferences(null); // the button appears again
      }
    }
  }

  private _tellDifferences(found: IDifferences | null): void {
    this._differences = found;
    this._changed.emit();
  }

  /** Request the state of the ranks: the kernel may have sent it while this page was not listening. */
  refresh(): void {
    if (this.isStarted) {
      this.send('dtrain/state', {}).catch(() => undefined);
    }
  }

  forget(expression: string): void {
    this._expressions = this._expressions.filter(e => e !== expression);
    this._rows.delete(expression);
    this._latest.delete(expression);
    this._changed.emit();
  }

  private _titled(): void {
    // no request if the debugger was turned off
    if (this.isStarted) {
      void this._ask();
    }
  }

  private async _ask(): Promise<void> {
    this._clear();
    if (this.isStarted) {
      try {
        await this.send('dtrain/state', {});
      } catch {
        // a kernel without ranks, or of another language: nothing to show
        this._view = null;
      }
    }
  }

  private _clear(): void {
    this._view = null;
    this._rows.clear();
    this._round += 1;
    this._differences = null;
    this._changed.emit();
  }

  private _heard(_: IDebugger, event: IDebugger.ISession.Event): void {
    if (event.event !== 'dtrain/state') {
      return;
    }
    this._kernel.follow(this._debugger.session?.connection ?? null);
    const before = this._view;
    this._view = event.body as DebugView;
    if (!this._view.on) {
      // earlier values are outdated
      this._rows.clear();
    }
    const moved = places(before) !== places(this._view);
    const looksAt = before?.focus !== this._view.focus;
    if (this._differences && !isAnyPaused(this._view)) {
      this._round += 1;
      this._differences = null;
    } else if (this._differences && (moved || looksAt)) {
      window.clearTimeout(this._again);
      this._again = window.setTimeout(() => {
        // the user didn't request this comparison: if it fails, the button appears again
        this.compareVariables().catch(() => undefined);
      }, SETTLE);
    }
    if (this._view.on && (moved || !before?.on)) {
      // values are outdated, also if ranks run or are idle now; ranks stop one by one, so wait for all
      window.clearTimeout(this._timer);
      this._timer = window.setTimeout(() => {
        this._expressions.forEach(e => void this._evaluate(e));
      }, SETTLE);
    }
    this._changed.emit();
  }

  /** @returns the kernel's refusal, which is displayed instead of values; null if it answered. */
  private async _evaluate(expression: string): Promise<Refused | null> {
    if (!this._view?.on) {
      return null;
    }
    let refused: Refused | null = null;
    const number = (this._asked += 1);
    this._latest.set(expression, number);
    let row: AcrossRow;
    try {
      const found = await this._across(expression);
      if (!found) {
        return null;
      }
      row = found;
    } catch (error) {
      refused = error instanceof Refused ? error : null;
      row = {
        expression,
        same: false,
        groups: [],
        first: '',
        differing: 0,
        total: 0,
        running: [],
        comparable: true,
        text: error instanceof Error ? error.message : String(error)
      };
    }
    if (this._latest.get(expression) === number) {
      this._rows.set(expression, row);
      this._changed.emit();
    }
    return refused;
  }

  /** An expression's value on all ranks; null if they are no longer debugged. */
  private async _across(expression: string): Promise<AcrossRow | null> {
    const answer = await this.send('dtrain/across', { expression });
    return answer && this._view?.on ? (answer.body as AcrossRow) : null;
  }

  /** Names that only some ranks have; empty if the request fails, so that the comparison continues. */
  private async _onlyOnSome(): Promise<readonly Only[]> {
    const answer = await this.send('dtrain/names', {}).catch(() => null);
    return ((answer?.body ?? {}) as { only?: Only[] }).only ?? [];
  }

  private _again = 0;
  /** Clears the state when the kernel ends: a new kernel sends none before it has loaded our extension. */
  private _kernel = new KernelEnd(() => this._clear());
  private _differences: IDifferences | null = null;
  /** Number of the current comparison of variables: older ones stop. */
  private _round = 0;
  private _view: DebugView | null = null;
  private _expressions: string[] = [];
  private _rows = new Map<string, AcrossRow>();
  private _timer = 0;
  private _asked = 0;
  /** Expression → number of its latest evaluation; answers to earlier ones are ignored. */
  private _latest = new Map<string, number>();
  private _changed = new Signal<this, void>(this);
}

/** Error code for an expression that is not valid Python (`dtrain_lab/services/debugger/across.py`). */
const UNREADABLE = 'unreadable_expression';

/** Ms from a stop until expressions are evaluated. */
const SETTLE = 120;

function isAnyPaused(view: DebugView): boolean {
  return view.ranks.some(isPaused);
}

function isPaused(rank: RankView): boolean {
  return rank.phase === 'paused';
}

/** States of all ranks, and positions of the paused ones, as text for comparison. */
function places(view: DebugView | null): string {
  return JSON.stringify(
    view?.ranks.map(r => [r.phase, isPaused(r) ? r.place : null]) ?? null
  );
}
