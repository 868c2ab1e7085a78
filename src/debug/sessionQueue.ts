import { JupyterFrontEnd } from '@jupyterlab/application';
import { IDebugger } from '@jupyterlab/debugger';
import { NotebookPanel } from '@jupyterlab/notebook';
import { Session } from '@jupyterlab/services';
import { ISignal, Signal } from '@lumino/signaling';

import { BugPresses } from '../jupyterlab/debugButton';
import { Query } from '../jupyterlab/debuggerHandler';
import { DebuggerService } from '../jupyterlab/debuggerService';
import { MethodSteps } from '../jupyterlab/steps';

type Connection = Session.ISessionConnection | null;

/** What is queued of JupyterLab. */
export interface IQueued {
  /** Its queries of kernels; null in a front end without notebooks. */
  queries: MethodSteps<Query, 'queue'> | null;
  presses: BugPresses;
  service: Pick<DebuggerService, 'updates'>;
}

/**
 * Serializes the uses of JupyterLab's debug session: queries of kernels, presses of the bug, breakpoints.
 *
 * All notebooks share one debug session, which JupyterLab connects to each notebook's kernel in order to
 * query its state. After a reload of the page it does so for several notebooks at the same time, or while
 * the bug of one is pressed. Without the queue, it takes the answer of one kernel for that of another, and
 * turns on the wrong debugger.
 */
export class SessionQueue {
  /**
   * @param _shell - gives the current notebook, which has the session in the end.
   * @param _debug - has the session.
   * @param _asked - called once all kernels were queried: events that they sent may have been missed.
   */
  constructor(
    private _queued: IQueued,
    private _shell: Pick<JupyterFrontEnd.IShell, 'currentWidget'>,
    private _debug: Pick<IDebugger, 'session'>,
    private _asked: () => void
  ) {
    const { queries, service } = _queued;
    if (queries?.original) {
      queries.add('queue', (_, ...args) => this._look(...args));
      // between its requests the session may go to another kernel; and it sets all lines of a cell at once, so
      // those of the click before have to be known
      service.updates.add('queue', (set, ...args) =>
        this._enqueue(null, () => set(...args))
      );
    }
  }

  /** Whether the session is in use: it may be connected to another kernel than that of the notebook in front. */
  get busy(): boolean {
    return this._waiting > 0;
  }

  /** Emitted when `busy` has changed. */
  get busyChanged(): ISignal<this, void> {
    return this._busyChanged;
  }

  /** Wait until the queue is empty. */
  async idle(): Promise<void> {
    while (this._waiting) {
      await this._last;
    }
  }

  /** Have JupyterLab query a notebook's kernel: its bug and its gutters show then how its debugger is. */
  query(panel: NotebookPanel): Promise<void> {
    return this._look(panel, panel.sessionContext.session);
  }

  private _look(widget: NotebookPanel, connection: Connection): Promise<void> {
    const query = this._queued.queries?.original;
    return this._enqueue(widget, async () => {
      if (widget.isDisposed || !query) {
        return;
      }
      this._connections.set(widget, connection);
      const updated = query(widget, connection);
      // JupyterLab has made the button by now
      this._queued.presses.around(widget, press =>
        this._enqueue(widget, press)
      );
      await updated;
    });
  }

  /** @param widget - where the session is led; null if it stays where it is. */
  private _enqueue(
    widget: NotebookPanel | null,
    work: () => Promise<void>
  ): Promise<void> {
    this._waiting += 1;
    if (this._waiting === 1) {
      this._busyChanged.emit();
    }
    let timer = 0;
    const done = this._last.then(work);
    // a kernel that does not answer must not block the queue
    const patience = this._last.then(
      () =>
        new Promise<void>(resolve => {
          timer = window.setTimeout(resolve, WITHIN);
        })
    );
    this._last = Promise.race([done.catch(() => undefined), patience]).then(
      () => {
        window.clearTimeout(timer);
        this._waiting -= 1;
        if (!this._waiting) {
          this._busyChanged.emit();
          this._leadToFront(widget);
        }
      }
    );
    return done;
  }

  /** Connect the session to the current notebook's kernel, if it has another one's. */
  private _leadToFront(last: NotebookPanel | null): void {
    const front = this._shell.currentWidget as NotebookPanel | null;
    const its = front && this._connections.get(front);
    if (its && front !== last && this._debug.session?.connection !== its) {
      this._look(front, its).catch(() => undefined);
    } else {
      this._asked();
    }
  }

  private _busyChanged = new Signal<this, void>(this);
  private _connections = new WeakMap<NotebookPanel, Connection>();
  private _last: Promise<void> = Promise.resolve();
  private _waiting = 0;
}

/** Ms in which a kernel answers, also on a busy machine. */
const WITHIN = 30_000;
