import { IDebugger } from '@jupyterlab/debugger';

import { DebuggerService } from '../jupyterlab/debuggerService';
import { DebuggerSession } from '../jupyterlab/debuggerSession';
import { ask } from './model/kernelRequest';
import { movedLine, sharedLines } from './model/movedLines';
import { DebugView, SetBreakpoint } from './model/model';
import { isCell } from './model/texts';

/** The parts of a breakpoint in the Debug Adapter Protocol that JupyterLab leaves out. */
interface IGiven {
  line: number;
  condition: string;
  hitCondition: string;
  logMessage: string;
}

type Session = Pick<IDebugger.ISession, 'sendRequest' | 'connection'>;

/** The part of JupyterLab's service that is used. */
type Service = Pick<IDebugger, 'eventMessage' | 'getCodeId'> & {
  readonly session: Session | null;
  readonly model: {
    readonly breakpoints: Pick<IDebugger.Model.IBreakpoints, 'getBreakpoints'>;
  };
};

/**
 * Conditions of breakpoints on ranks. They survive a restart of the kernel and edits of a cell.
 *
 * JupyterLab itself stores the lines of breakpoints and sends them to a new kernel, without conditions; this
 * class adds the conditions to those requests. A kernel that received its breakpoints before it had loaded
 * our extension requests the conditions ("dtrain/conditions"). For the debugger, an edited cell is a new
 * source: JupyterLab moves the lines to it, and this class moves the conditions.
 */
export class Conditions {
  /**
   * @param service - around its changes of breakpoints, their conditions are kept.
   * @param requests - conditions are added to those that set breakpoints.
   * @param _cells - texts of all code cells that are open.
   */
  constructor(
    private _debug: Service,
    { updates }: Pick<DebuggerService, 'updates'>,
    requests: DebuggerSession,
    private _cells: () => readonly string[] = () => []
  ) {
    _debug.eventMessage.connect(this._heard, this);
    requests.around('conditions', (send, command, args) =>
      send(command, command === 'setBreakpoints' ? this._extend(args) : args)
    );
    // only called when the user sets or removes breakpoints
    updates.add('conditions', async (update, code, points, path) => {
      const to = path || _debug.getCodeId(code);
      const lines = points.map(point => point.line);
      this._forgetRemoved(to, lines);
      const from = path ? null : this._carry(code, to, lines);
      if (from) {
        await this._clear(from).catch(() => undefined); // the session hasn't started, or has ended
      }
      await update(code, points, path);
    });
  }

  /** A breakpoint with what it asks, as it was last reported; null if it asks nothing. */
  given(path: string, line: number): SetBreakpoint | null {
    const given = this._own().get(keyOf(path, line));
    if (!given) {
      return null;
    }
    const { condition, hitCondition: hit, logMessage: log } = given;
    return { path, line, condition, hit, log, error: '' };
  }

  /** Breakpoints of an edited cell; what they ask moves with them from its previous text. */
  asking(code: string, lines: readonly number[]): { line: number }[] {
    const path = this._debug.getCodeId(code);
    this._carry(code, path, lines);
    const own = this._own();
    return lines.map(line => ({ line, ...own.get(keyOf(path, line)) }));
  }

  private _heard(_: unknown, event: IDebugger.ISession.Event): void {
    const name: string = event.event;
    if (name === 'dtrain/conditions') {
      this._answer().catch(() => undefined); // that kernel has ended
    } else if (name === 'dtrain/state') {
      const { on, points } = event.body as DebugView;
      if (on) {
        points.forEach(point => this._learn(point));
      }
    }
  }

  /** Store what the kernel reports; an empty condition means that the condition was removed. */
  private _learn({ path, line, condition, hit, log }: SetBreakpoint): void {
    const own = this._own();
    const key = keyOf(path, line);
    if (condition || hit || log) {
      own.set(key, { line, condition, hitCondition: hit, logMessage: log });
      this._remember(path);
    } else {
      own.delete(key);
    }
  }

  /** Store the text of a cell with conditions: after an edit, it is compared to find their new lines. */
  private _remember(path: string): void {
    const name = nameOf(path);
    if (isCell(path) && !this._texts.has(name)) {
      const { getCodeId } = this._debug;
      const isIt = (t: string): boolean =>
        nameOf(getCodeId.call(this._debug, t)) === name;
      const text = this._cells().find(isIt);
      if (text !== undefined) {
        this._texts.set(name, { path, text });
      }
    }
  }

  /**
   * Move the conditions of an edited cell from its previous text to this one.
   *
   * @returns the cell's previous path; null if it had no conditions.
   */
  private _carry(
    code: string,
    to: string,
    lines: readonly (number | undefined)[]
  ): string | null {
    const own = this._own();
    const at = (name: string): [string, IGiven][] =>
      [...own].filter(([key, { line }]) => key === `${name}:${line}`);
    const cells = this._cells();
    if (at(nameOf(to)).length || !cells.includes(code)) {
      return null;
    }
    const [edited] = [...this._texts]
      .filter(([name, { text }]) => !cells.includes(text) && at(name).length)
      .sort(
        ([, a], [, b]) => sharedLines(b.text, code) - sharedLines(a.text, code)
      );
    if (!edited) {
      return null;
    }
    const [name, { path, text }] = edited;
    for (const [key, given] of at(name)) {
      own.delete(key);
      const line = movedLine(text, code, given.line);
      if (lines.includes(line)) {
        own.set(keyOf(to, line), { ...given, line });
      }
    }
    this._texts.delete(name);
    this._texts.set(nameOf(to), { path: to, text: code });
    return path;
  }

  /** Remove a cell's breakpoints under its previous path; otherwise the list would show them twice. */
  private async _clear(path: string): Promise<void> {
    const args = { source: { path }, breakpoints: [] };
    await this._debug.session?.sendRequest('setBreakpoints', args);
  }

  private async _answer(): Promise<void> {
    const points = [...this._own()].map(([key, given]) => ({
      path: key.slice(0, key.lastIndexOf(':')),
      ...given
    }));
    const { session } = this._debug;
    if (session) {
      await ask(session, 'dtrain/conditions', { points });
    }
  }

  /** Arguments of a request that sets breakpoints, with their conditions. */
  private _extend(args: unknown): unknown {
    const asked = args as Partial<{
      source: { path?: string };
      breakpoints: IGiven[];
    }>;
    if (!asked.breakpoints) {
      return args;
    }
    const own = this._own();
    const path = asked.source?.path ?? '';
    const breakpoints = asked.breakpoints.map(point => ({
      ...point,
      ...own.get(keyOf(path, point.line))
    }));
    return { ...asked, breakpoints };
  }

  /** Forget the conditions of removed breakpoints: a breakpoint that is set there later has none. */
  private _forgetRemoved(
    path: string,
    lines: readonly (number | undefined)[]
  ): void {
    const own = this._own();
    const { breakpoints } = this._debug.model;
    const before = breakpoints.getBreakpoints(path).map(point => point.line);
    for (const [key, { line }] of own) {
      const stays = lines.includes(line) && before.includes(line);
      if (key === keyOf(path, line) && !stays) {
        own.delete(key);
      }
    }
  }

  /** The conditions of the debugged notebook, by its session, which is the same after a kernel restart. */
  private _own(): Map<string, IGiven> {
    const id = this._debug.session?.connection?.id ?? '';
    const own = this._of.get(id) ?? new Map<string, IGiven>();
    this._of.set(id, own);
    return own;
  }

  private _of = new Map<string, Map<string, IGiven>>();
  /** Name of a cell with conditions → its path and text. */
  private _texts = new Map<string, { path: string; text: string }>();
}

/** Key of a breakpoint, without the folder of cells, whose name differs between kernels. */
function keyOf(path: string, line: number): string {
  return `${nameOf(path)}:${line}`;
}

function nameOf(path: string): string {
  return isCell(path) ? path.slice(path.lastIndexOf('/') + 1) : path;
}
