import { JupyterFrontEnd } from '@jupyterlab/application';
import { IDebugger } from '@jupyterlab/debugger';
import { NotebookPanel } from '@jupyterlab/notebook';
import { Session } from '@jupyterlab/services';

import { bugOf } from './debugButton';

type Connection = Session.ISessionConnection | null;

/**
 * The method of JupyterLab's handler that asks a notebook's kernel; its interface does not list it.
 *
 * Without it nothing here takes effect: several notebooks are asked at once again, as in JupyterLab itself.
 */
export interface IKernelQueries {
  updateWidget?(widget: NotebookPanel, connection: Connection): Promise<void>;
}

type IPress = () => void | Promise<void>;

/**
 * The action of a button, private in JupyterLab.
 *
 * Without it the bug acts at once: pressed while another notebook's kernel is asked, it may turn on that
 * notebook's debugger, as in JupyterLab itself.
 */
interface IPressed {
  _onClick?: IPress;
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
   * @param handler - JupyterLab's handler of notebooks; null in a front end without one.
   * @param _shell - gives the current notebook, which has the session in the end.
   * @param _debug - has the session.
   * @param _asked - called once all kernels were queried: events that they sent may have been missed.
   */
  constructor(
    handler: IKernelQueries | null,
    private _shell: Pick<JupyterFrontEnd.IShell, 'currentWidget'>,
    private _debug: Pick<IDebugger, 'session' | 'updateBreakpoints'>,
    private _asked: () => void
  ) {
    const update = handler?.updateWidget?.bind(handler);
    if (handler && update) {
      this._update = update;
      handler.updateWidget = (widget, connection) =>
        this._look(widget, connection);
      // between its requests the session may go to another kernel; and it sets all lines of a cell at once, so
      // those of the click before have to be known
      const set = _debug.updateBreakpoints.bind(_debug);
      _debug.updateBreakpoints = (...args) =>
        this._enqueue(null, () => set(...args));
    }
  }

  /** Whether the session is in use: it may be connected to another kernel than that of the notebook in front. */
  get busy(): boolean {
    return this._waiting > 0;
  }

  /** Wait until the queue is empty. */
  async idle(): Promise<void> {
    while (this._waiting) {
      await this._last;
    }
  }

  private _look(widget: NotebookPanel, connection: Connection): Promise<void> {
    return this._enqueue(widget, async () => {
      if (widget.isDisposed) {
        return;
      }
      this._connections.set(widget, connection);
      const updated = this._update(widget, connection);
      this._enqueuePresses(widget); // JupyterLab has made the button by now
      await updated;
    });
  }

  /** Queue presses of the bug, too. */
  private _enqueuePresses(widget: NotebookPanel): void {
    const bug = bugOf(widget);
    // the public getter `onClick` returns a function that calls the current action: it would call itself
    const press = (bug as unknown as IPressed | undefined)?._onClick;
    if (bug && press && !this._presses.has(press)) {
      const queued = (): Promise<void> =>
        this._enqueue(widget, async () => press());
      this._presses.add(queued);
      bug.onClick = queued;
    }
  }

  /** @param widget - where the session is led; null if it stays where it is. */
  private _enqueue(
    widget: NotebookPanel | null,
    work: () => Promise<void>
  ): Promise<void> {
    this._waiting += 1;
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

  private _update: NonNullable<IKernelQueries['updateWidget']> = async () => {};
  private _connections = new WeakMap<NotebookPanel, Connection>();
  private _presses = new WeakSet<IPress>();
  private _last: Promise<void> = Promise.resolve();
  private _waiting = 0;
}

/** Ms in which a kernel answers, also on a busy machine. */
const WITHIN = 30_000;
