import { IDebugger } from '@jupyterlab/debugger';
import { NotebookPanel } from '@jupyterlab/notebook';

import { FIRST_THREAD } from './model/compareVariables';
import { DebugModel } from './model/model';
import { hasEnded } from './model/texts';
import { SessionQueue } from './sessionQueue';

/** What is used of the debugger. */
export interface IEndParts {
  debug: Pick<IDebugger, 'session' | 'model' | 'stop'>;
  model: Pick<DebugModel, 'view' | 'isStarted' | 'changed'>;
  queue: Pick<SessionQueue, 'idle' | 'query'>;
  onError: (error: unknown) => void;
}

/** A notebook from which a job is debugged. */
interface IFollowed {
  panel: NotebookPanel;
  job: string;
}

/**
 * Turns off the debuggers that *Debug* turned on for jobs, once these have ended.
 *
 * JupyterLab offers to pause as long as its debugger is on, also when there is nothing left to pause. A
 * debugger that the user has turned on, or used for something else since, stays on.
 */
export class EndWithJob {
  constructor(private _parts: IEndParts) {}

  /** Turn off the debugger of a notebook once this job has ended. */
  follow(panel: NotebookPanel, job: string): void {
    const kernel = panel.sessionContext.session?.kernel?.id;
    if (kernel) {
      this._followed.set(kernel, { panel, job });
      this._parts.model.changed.connect(this._look, this);
      this._look();
    }
  }

  /**
   * Leave the debugger of a kernel on.
   *
   * @param kernel - its id.
   * @returns whether it would have been turned off with a job.
   */
  leave(kernel: string): boolean {
    const followed = this._followed.delete(kernel);
    if (!this._followed.size) {
      this._parts.model.changed.disconnect(this._look, this);
    }
    return followed;
  }

  private _look(): void {
    const { model, onError } = this._parts;
    const { view } = model;
    const kernel = this._current();
    const followed = kernel && this._followed.get(kernel);
    if (!followed || !view) {
      return; // another notebook is shown; this one is asked for its state when it comes to the front
    }
    if (view.world !== followed.job || !view.on) {
      if (view.on || !model.isStarted) {
        this.leave(kernel); // it debugs other ranks now, or the user has turned it off
      }
    } else if (hasEnded(view) && view.ranks.every(r => r.phase === 'gone')) {
      this.leave(kernel);
      this._stop(kernel, followed.panel).catch(onError);
    }
  }

  private async _stop(kernel: string, panel: NotebookPanel): Promise<void> {
    const { debug, model, queue } = this._parts;
    await queue.idle(); // the session may be at another kernel, in order to query it
    const stopped = [...debug.model.stoppedThreads];
    // a cell of the kernel itself that has stopped would run on; of ranks, JupyterLab may have an old answer
    const own = stopped.some(thread => thread < FIRST_THREAD);
    if (this._current() === kernel && model.isStarted && !own) {
      await debug.stop();
      // a notebook's bug and gutters learn of an end that is no click of this bug only when it is queried
      await queue.query(panel);
    }
  }

  /** The kernel at which JupyterLab's session is. */
  private _current(): string | undefined {
    return this._parts.debug.session?.connection?.kernel?.id;
  }

  /** Id of a kernel → what is debugged from its notebook. */
  private _followed = new Map<string, IFollowed>();
}
