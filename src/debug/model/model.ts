import { IDebugger } from '@jupyterlab/debugger';
import { Session } from '@jupyterlab/services';
import { ISignal, Signal } from '@lumino/signaling';

import { components } from '../../api/types';
import { ComparedExpressions } from './comparedExpressions';
import { ask, IAnswer } from './kernelRequest';
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

  /** Emitted when the user wants to edit what a breakpoint asks: its path, and its line. */
  get editAsked(): ISignal<this, { path: string; line: number }> {
    return this._editAsked;
  }

  /** Open the form of a breakpoint in the sidebar. */
  edit(path: string, line: number): void {
    this._editAsked.emit({ path, line });
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
    return this._expressions.rows;
  }

  /** Focus this rank. */
  async focus(rank: number): Promise<void> {
    this._wanted = rank;
    this._changed.emit();
    try {
      await this.send('dtrain/focus', { rank });
    } finally {
      if (this._wanted === rank) {
        this._wanted = null;
        this._changed.emit();
      }
    }
  }

  /** The rank that the user has chosen, until the kernel has answered; null for none. */
  get asked(): number | null {
    return this._wanted;
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
    await this._expressions.add(expression);
  }

  /** Compare these expressions instead, such as those of another notebook. */
  restore(expressions: readonly string[]): void {
    this._expressions.restore(expressions);
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

  /**
   * Forget what the kernel of another notebook has said of ranks that it no longer debugs, as that its job has ended.
   * JupyterLab's session stays at that kernel while the current notebook's debugger is off.
   *
   * @param current - the session of the current notebook; null without one.
   */
  follow(current: Session.ISessionConnection | null): void {
    if (
      this._view &&
      !this._view.on &&
      !this.isStarted &&
      !this._kernel.isOf(current)
    ) {
      this._clear();
    }
  }

  /** Compare an expression no longer. */
  forget(expression: string): void {
    this._expressions.forget(expression);
  }

  private _titled(): void {
    if (this.isStarted) {
      void this._ask();
    } else if (this._view?.on) {
      // its notebook was closed: the kernel, which says when the debugger is turned off, is not heard any more
      this._clear();
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
    this._expressions.dropAnswers();
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
      this._expressions.dropAnswers();
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
        this._expressions.evaluate();
      }, SETTLE);
    }
    this._changed.emit();
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
  private _wanted: number | null = null;
  /**
   * Clears the state when the kernel ends, as a new kernel sends none before it has loaded our extension, and when its
   * notebook is closed.
   */
  private _kernel = new KernelEnd(
    () => this._clear(),
    () => this._clear()
  );
  private _differences: IDifferences | null = null;
  /** Number of the current comparison of variables: older ones stop. */
  private _round = 0;
  private _view: DebugView | null = null;
  private _expressions = new ComparedExpressions({
    isOn: () => !!this._view?.on,
    across: expression => this._across(expression),
    tell: () => this._changed.emit()
  });
  private _timer = 0;
  private _changed = new Signal<this, void>(this);
  private _editAsked = new Signal<this, { path: string; line: number }>(this);
}

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
