import { IDebugger } from '@jupyterlab/debugger';
import { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import { Report } from './names';
import { MethodSteps } from './steps';

type Event = IDebugger.ISession.Event;

/** What is replaced of JupyterLab's service; it is public, but not made to be replaced. */
type Replaced = Partial<
  Pick<
    IDebugger,
    'updateBreakpoints' | 'restoreState' | 'pauseOnExceptions' | 'eventMessage'
  >
>;

/** JupyterLab's debugger service, with what we do around its methods. */
export class DebuggerService implements IDisposable {
  constructor(
    private _debug: Replaced,
    report: Report
  ) {
    // the queue first: what the others send must reach the kernel that the breakpoints are for; and conditions
    // last: by then, breakpoints of edited cells are known under their new text
    this.updates = new MethodSteps(
      _debug,
      'updateBreakpoints',
      ['queue', 'edits', 'conditions'],
      () => report('IDebugger.updateBreakpoints')
    );
    this.restores = new MethodSteps(
      _debug,
      'restoreState',
      ['notebook', 'kept', 'exceptions'],
      () => report('IDebugger.restoreState')
    );
    this.exceptions = new MethodSteps(
      _debug,
      'pauseOnExceptions',
      ['kept'],
      () => report('IDebugger.pauseOnExceptions')
    );
    if (!(_debug.eventMessage instanceof Signal)) {
      report('IDebugger.eventMessage');
    }
  }

  /** Around each change of breakpoints by the user. */
  readonly updates: MethodSteps<
    IDebugger['updateBreakpoints'],
    'queue' | 'edits' | 'conditions'
  >;
  /** Around what JupyterLab does when its session has come to a kernel. */
  readonly restores: MethodSteps<
    IDebugger['restoreState'],
    'notebook' | 'kept' | 'exceptions'
  >;
  /** Around each change of the exceptions that stop. */
  readonly exceptions: MethodSteps<IDebugger['pauseOnExceptions'], 'kept'>;

  get isDisposed(): boolean {
    return this.updates.isDisposed;
  }

  dispose(): void {
    [this.updates, this.restores, this.exceptions].forEach(s => s.dispose());
  }

  /**
   * Make JupyterLab's views read the session's capabilities again.
   *
   * They do so on the event with which a kernel answers the start of its debugger. JupyterLab has no other way:
   * the session's `start` reads them, and tells nobody.
   */
  announceStart(): void {
    const { eventMessage } = this._debug;
    if (eventMessage instanceof Signal) {
      const event = { type: 'event', event: 'initialized', seq: 0 };
      eventMessage.emit(event as unknown as Event);
    }
  }
}

/** Show a breakpoint's line, as a click on it in JupyterLab's own list does. */
export function showBreakpoint(
  { clicked }: Pick<IDebugger.Model.IBreakpoints, 'clicked'>,
  breakpoint: IDebugger.IBreakpoint
): void {
  clicked.emit(breakpoint);
}
