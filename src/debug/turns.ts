import { JupyterFrontEnd } from '@jupyterlab/application';
import { IDebugger } from '@jupyterlab/debugger';
import { NotebookPanel } from '@jupyterlab/notebook';
import { Session } from '@jupyterlab/services';

import { bugOf } from './debugButton';

type Connection = Session.ISessionConnection | null;

/** What is taken of JupyterLab's handler; its interface does not list it. */
export interface IUpdates {
  updateWidget?(widget: NotebookPanel, connection: Connection): Promise<void>;
}

type IPress = () => void | Promise<void>;

/** What a press of a button does. */
interface IPressed {
  _onClick?: IPress;
}

/**
 * Has JupyterLab look at one notebook's debugger after another.
 *
 * All notebooks share one debug session, which is led to each notebook's kernel to ask it. After a reload of the page
 * JupyterLab does so for several at once, or while the bug of one is pressed: one's answer is then taken for
 * another's, whose debugger is turned on.
 */
export class Turns {
  /**
   * @param handler - JupyterLab's, of notebooks; null where it has none.
   * @param shell - which notebook is in front: the session is its in the end.
   * @param debug - whose session it is.
   * @param asked - called once all are looked at: what a kernel told meanwhile may have been missed.
   */
  constructor(
    handler: IUpdates | null,
    private _shell: Pick<JupyterFrontEnd.IShell, 'currentWidget'>,
    private _debug: Pick<IDebugger, 'session' | 'updateBreakpoints'>,
    private _asked: () => void
  ) {
    const update = handler?.updateWidget?.bind(handler);
    if (handler && update) {
      this._update = update;
      handler.updateWidget = (widget, connection) =>
        this._look(widget, connection);
      // while the session is another's, JupyterLab would drop a breakpoint that is set
      const set = _debug.updateBreakpoints.bind(_debug);
      _debug.updateBreakpoints = async (...args) => {
        await this.ended();
        await set(...args);
      };
    }
  }

  /** Until nobody is looked at any more. */
  async ended(): Promise<void> {
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
      this._enqueuePresses(widget); // its bug is there now
      await updated;
    });
  }

  /** A press of the bug takes its turn, too. */
  private _enqueuePresses(widget: NotebookPanel): void {
    const bug = bugOf(widget);
    // what its getter gives calls whatever is set, thus itself
    const press = (bug as unknown as IPressed | undefined)?._onClick;
    if (bug && press && !this._presses.has(press)) {
      const inTurn = (): Promise<void> =>
        this._enqueue(widget, async () => press());
      this._presses.add(inTurn);
      bug.onClick = inTurn;
    }
  }

  private _enqueue(
    widget: NotebookPanel,
    work: () => Promise<void>
  ): Promise<void> {
    this._waiting += 1;
    let timer = 0;
    const turn = this._last.then(work);
    // a kernel that does not answer must not keep the others waiting
    const patience = this._last.then(
      () =>
        new Promise<void>(resolve => {
          timer = window.setTimeout(resolve, WITHIN);
        })
    );
    this._last = Promise.race([turn.catch(() => undefined), patience]).then(
      () => {
        window.clearTimeout(timer);
        this._waiting -= 1;
        if (!this._waiting) {
          this._leadToFront(widget);
        }
      }
    );
    return turn;
  }

  /** The notebook in front has the last word. */
  private _leadToFront(last: NotebookPanel): void {
    const front = this._shell.currentWidget as NotebookPanel | null;
    const its = front && this._connections.get(front);
    if (its && front !== last && this._debug.session?.connection !== its) {
      this._look(front, its).catch(() => undefined);
    } else {
      this._asked();
    }
  }

  private _update: NonNullable<IUpdates['updateWidget']> = async () => {};
  private _connections = new WeakMap<NotebookPanel, Connection>();
  private _presses = new WeakSet<IPress>();
  private _last: Promise<void> = Promise.resolve();
  private _waiting = 0;
}

/** Ms in which a kernel answers, also on a busy machine. */
const WITHIN = 30_000;
