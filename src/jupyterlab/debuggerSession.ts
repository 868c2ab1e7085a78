import { IDebugger } from '@jupyterlab/debugger';
import { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import { Report } from './names';
import { MethodSteps, Step } from './steps';

/** A request, as JupyterLab sends it: the session's own type has one signature for each command. */
export type Send = (command: string, args: unknown) => Promise<unknown>;

/** What is done around requests, from the outermost on. */
type Around = 'pause' | 'conditions';

/** The part of JupyterLab's service that is used. */
type Service = Pick<IDebugger, 'sessionChanged'> & {
  readonly session: Pick<IDebugger.ISession, 'sendRequest'> | null;
};

/** All requests of JupyterLab's debug session, whichever session it has, with what we do around them. */
export class DebuggerSession implements IDisposable {
  constructor(
    private _debug: Service,
    private _report: Report
  ) {
    _debug.sessionChanged.connect(this._follow, this);
    this._follow();
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Do something around each request. */
  around(name: Around, step: Step<Send>): void {
    this._steps.set(name, step);
    this._requests?.add(name, step);
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this._requests?.dispose();
      Signal.clearData(this);
    }
  }

  private _follow(): void {
    this._requests?.dispose();
    const { session } = this._debug;
    this._requests =
      session &&
      new MethodSteps<Send, Around>(
        session,
        'sendRequest',
        ['pause', 'conditions'],
        () => this._report('IDebugger.ISession.sendRequest')
      );
    this._steps.forEach((step, name) => this._requests?.add(name, step));
  }

  private _isDisposed = false;
  private _requests: MethodSteps<Send, Around> | null = null;
  private _steps = new Map<Around, Step<Send>>();
}

/** Send a request that JupyterLab's type does not list, such as one of our own. */
export function sendUnlisted<T>(
  session: Pick<IDebugger.ISession, 'sendRequest'>,
  command: string,
  args: Record<string, unknown>
): Promise<T> {
  const { sendRequest } = session as unknown as { sendRequest: Send };
  return sendRequest.call(session, command, args) as Promise<T>;
}
