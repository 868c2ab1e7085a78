import { IDebugger } from '@jupyterlab/debugger';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStateDB } from '@jupyterlab/statedb';
import { IDisposable } from '@lumino/disposable';

import { KeptBreakpoints } from './keptBreakpoints';
import { FIRST_THREAD } from './model/compareVariables';
import { DebugModel } from './model/model';
import { hasEnded } from './model/texts';
import { SessionQueue } from './sessionQueue';

/** What is used of the debugger. */
export interface IEndParts {
  debug: Pick<IDebugger, 'session' | 'model' | 'stop'>;
  model: Pick<DebugModel, 'view' | 'isStarted' | 'changed'>;
  queue: Pick<SessionQueue, 'idle' | 'query'>;
  tracker: Pick<INotebookTracker, 'find'>;
  kept: Pick<KeptBreakpoints, 'over'>;
  /** Null in a front end that keeps nothing over a reload. */
  state: Pick<IStateDB, 'fetch' | 'save'> | null;
  onError: (error: unknown) => void;
}

const KEY = 'dtrain-lab:debugged-jobs';

/** Number of kernels that are kept: those that were turned on last. */
const MOST = 50;

/**
 * Turns off the debuggers that *Debug* turned on for jobs, once these have ended.
 *
 * JupyterLab offers to pause as long as its debugger is on, also when there is nothing left to pause. A
 * debugger that the user has turned on, or used for something else since, stays on. Breakpoints are kept.
 */
export class EndWithJob implements IDisposable {
  constructor(private _parts: IEndParts) {
    this.ready = this._load().catch(_parts.onError);
  }

  /** Resolves once it knows what *Debug* has turned on before the page was reloaded. */
  readonly ready: Promise<void>;

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Turn off no debugger any more, now or once a load or a stop under way gets to it. */
  dispose(): void {
    this._isDisposed = true;
    this._parts.model.changed.disconnect(this._look, this);
  }

  /** Turn off the debugger of a kernel once this job has ended. */
  follow(kernel: string, job: string): void {
    this._followed.delete(kernel); // the kernel that was turned on last is the last one
    this._followed.set(kernel, job);
    this._save();
    this._parts.model.changed.connect(this._look, this);
    this._look();
  }

  /**
   * Leave the debugger of a kernel on.
   *
   * @param kernel - its id.
   * @returns whether it would have been turned off with a job.
   */
  leave(kernel: string): boolean {
    const followed = this._followed.delete(kernel);
    if (followed) {
      this._save();
    }
    if (!this._followed.size) {
      this._parts.model.changed.disconnect(this._look, this);
    }
    return followed;
  }

  private _look(): void {
    const { model, onError } = this._parts;
    const { view } = model;
    const kernel = this._current();
    const job = kernel && this._followed.get(kernel);
    if (!job || !view) {
      return; // another notebook is shown; this one is asked for its state when it comes to the front
    }
    if (view.world !== job || !view.on) {
      if (view.on || !model.isStarted) {
        this.leave(kernel); // it debugs other ranks now, or the user has turned it off
      }
    } else if (hasEnded(view) && view.ranks.every(r => r.phase === 'gone')) {
      this.leave(kernel);
      this._stop(kernel).catch(onError);
    }
  }

  private async _stop(kernel: string): Promise<void> {
    const { debug, kept, model, queue, tracker } = this._parts;
    await queue.idle(); // the session may be at another kernel, in order to query it
    const stopped = [...debug.model.stoppedThreads];
    // a cell of the kernel itself that has stopped would run on; of ranks, JupyterLab may have an old answer
    const own = stopped.some(thread => thread < FIRST_THREAD);
    const isOurs = this._current() === kernel && !this._isDisposed;
    if (isOurs && model.isStarted && !own) {
      await kept.over(() => debug.stop());
      const panel = tracker.find(
        each => each.sessionContext.session?.kernel?.id === kernel
      );
      if (panel) {
        // a notebook's bug and gutters learn of an end that is no click of this bug only when it is queried
        await queue.query(panel);
      }
    }
  }

  /** The kernel at which JupyterLab's session is. */
  private _current(): string | undefined {
    return this._parts.debug.session?.connection?.kernel?.id;
  }

  private async _load(): Promise<void> {
    const stored = await this._parts.state?.fetch(KEY);
    for (const [kernel, job] of Array.isArray(stored) ? stored : []) {
      if (typeof kernel === 'string' && typeof job === 'string') {
        this._followed.set(kernel, job);
      }
    }
    if (this._followed.size && !this._isDisposed) {
      this._parts.model.changed.connect(this._look, this);
      this._look();
    }
  }

  private _save(): void {
    const kept = [...this._followed].slice(-MOST);
    // a page that can't save them has them as long as it is open
    this._parts.state?.save(KEY, kept).catch(() => undefined);
  }

  private _isDisposed = false;
  /** Id of a kernel → the job that is debugged from its notebook. */
  private _followed = new Map<string, string>();
}
