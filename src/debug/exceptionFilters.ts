import { IDebugger } from '@jupyterlab/debugger';
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
 * debugger is not on yet. Whenever its session comes to a kernel, it also sends what it remembers of the user's
 * choice: nothing after a reload, and another kernel's choice if several notebooks come to the front in quick
 * succession. The kernel of ranks keeps what the user had chosen, and answers `initialize` again.
 */
export class ExceptionFilters {
  /**
   * @param _sidebar - contains the menu, which is built anew once the sidebar is seen: the event for that
   *   makes JupyterLab open it.
   */
  constructor(
    private _debug: IService,
    private _service: Pick<
      DebuggerService,
      'exceptions' | 'restores' | 'announceStart'
    >,
    private _sidebar: Pick<Widget, 'isVisible' | 'node'>
  ) {
    _service.restores.add('exceptions', async (restore, ...args) => {
      this._restores += 1;
      try {
        await restore(...args);
      } finally {
        this._restores -= 1;
      }
    });
    _service.exceptions.add('kept', async (set, filters) => {
      const kernel = _debug.session?.connection;
      const kept = this._restores ? await this._kept() : null;
      if (_debug.session?.connection === kernel) {
        await set(kept ?? filters);
      } // else another kernel's turn came meanwhile: a restore of its own follows
    });
  }

  /** What the user had chosen in the session's kernel; null if this kernel has no ranks' debugger. */
  private async _kept(): Promise<string[] | null> {
    const { session } = this._debug;
    const kernel = session?.connection;
    if (!session?.isStarted || !kernel) {
      return null;
    }
    try {
      const { body } = await ask(session, 'dtrain/exceptions', {});
      const known = session.exceptionBreakpointFilters?.length;
      if (!known && session.connection === kernel) {
        await session.start();
        this._build();
      }
      return (body as { filters: string[] }).filters;
    } catch (error) {
      if (!(error instanceof Refused)) {
        throw error;
      }
      return null;
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

  /** Restores of the session that have not ended. */
  private _restores = 0;
}
