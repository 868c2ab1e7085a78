import { IDebugger } from '@jupyterlab/debugger';
import { Session } from '@jupyterlab/services';

import { DebuggerService } from '../jupyterlab/debuggerService';

type Connection = Session.ISessionConnection;
type Points = Map<string, IDebugger.IBreakpoint[]>;

/** The part of JupyterLab's service that is used. */
export interface IBreakpointService {
  readonly config: Pick<
    IDebugger.IConfig,
    'getTmpFileParams' | 'setTmpFileParams'
  >;
  readonly session: Pick<IDebugger.ISession, 'connection'> | null;
  readonly model: {
    readonly breakpoints: Pick<
      IDebugger.Model.IBreakpoints,
      'breakpoints' | 'restoreBreakpoints'
    >;
  };
}

/** What JupyterLab's model has of a notebook that its session has left. */
interface ILeft {
  points: Points;
  /** Where its kernel kept cells: names of their sources begin with it. */
  folder: IDebugger.IConfig.FileParams | undefined;
}

/**
 * Each notebook's own breakpoints in JupyterLab's only model of them.
 *
 * When JupyterLab connects its session to another notebook's kernel, it merges the breakpoints of its model
 * with those of that kernel, and sends all of them there, which is meant for a kernel that was restarted. So
 * a copy of a notebook would get the breakpoints of the original. Before that, this class exchanges them for
 * those that the model had of that notebook.
 */
export class NotebookBreakpoints {
  constructor(
    private _debug: IBreakpointService,
    { restores }: Pick<DebuggerService, 'restores'>
  ) {
    restores.add('notebook', (restore, ...args) => {
      this._exchange(_debug.session?.connection ?? null);
      return restore(...args);
    });
  }

  private _exchange(connection: Connection | null): void {
    const before = this._of;
    if (!connection || connection === before) {
      return;
    }
    this._of = connection;
    // a notebook whose kernel was shut down and started again has another session
    if (!before || before.path === connection.path) {
      return;
    }
    const { config, model } = this._debug;
    const { breakpoints } = model;
    this._left.set(before.path, {
      points: breakpoints.breakpoints as Points,
      folder: config.getTmpFileParams(before.kernel?.name ?? '')
    });
    const own = this._left.get(connection.path);
    if (own?.folder) {
      // JupyterLab renames sources to the folder of a kernel that was restarted meanwhile
      config.setTmpFileParams(own.folder);
    }
    breakpoints.restoreBreakpoints(own?.points ?? new Map());
  }

  /** The notebook whose breakpoints the model has. */
  private _of: Connection | null = null;
  /** Path of a notebook → what the model had of it. */
  private _left = new Map<string, ILeft>();
}
