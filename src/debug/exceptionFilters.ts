import { IDebugger } from '@jupyterlab/debugger';
import { Session } from '@jupyterlab/services';
import { Widget } from '@lumino/widgets';

import { DebuggerService } from '../jupyterlab/debuggerService';
import { ask, Refused } from './model/kernelRequest';

/** The part of JupyterLab's service that is used. */
interface IService {
  readonly session: Pick<
    IDebugger.ISession,
    | 'connection'
    | 'isStarted'
    | 'exceptionBreakpointFilters'
    | 'start'
    | 'sendRequest'
  > | null;
}

/**
 * Restores "Pause on exceptions" after a reload of the page.
 *
 * JupyterLab learns the entries of this menu from the answer to `initialize`, which it requests only where the
 * debugger is not on yet, and it turns all of them off in a kernel that it has not seen before. The kernel of
 * ranks keeps what the user had chosen, and answers `initialize` again.
 */
export class ExceptionFilters {
  /**
   * @param _sidebar - contains the menu, which is built anew once the sidebar is seen: the event for that
   *   makes JupyterLab open it.
   */
  constructor(
    private _debug: IService,
    private _service: Pick<DebuggerService, 'exceptions' | 'announceStart'>,
    private _sidebar: Pick<Widget, 'isVisible' | 'node'>
  ) {
    _service.exceptions.add('kept', async (set, filters) => {
      const kept = await this._kept();
      await set(filters.length ? filters : (kept ?? []));
    });
  }

  /** What the user had chosen in this kernel; null if it has been asked before, or has no ranks' debugger. */
  private async _kept(): Promise<string[] | null> {
    const { session } = this._debug;
    const kernel = session?.connection;
    if (!session?.isStarted || !kernel || this._asked.has(kernel)) {
      return null;
    }
    this._asked.add(kernel);
    try {
      const { body } = await ask(session, 'dtrain/exceptions', {});
      if (!session.exceptionBreakpointFilters?.length) {
        await session.start();
        this._build();
      }
      return (body as { filters: string[] }).filters;
    } catch (error) {
      if (!(error instanceof Refused)) {
        throw error;
      }
      return null; // a kernel without ranks
    }
  }

  private _build(): void {
    if (this._sidebar.isVisible) {
      this._service.announceStart();
      return;
    }
    const seen = new IntersectionObserver(entries => {
      if (entries.some(entry => entry.isIntersecting)) {
        seen.disconnect();
        this._service.announceStart();
      }
    });
    seen.observe(this._sidebar.node);
  }

  private _asked = new WeakSet<Session.ISessionConnection>();
}
