import { IDebugger } from '@jupyterlab/debugger';

import { DebuggerService } from '../jupyterlab/debuggerService';
import { movedLine } from './model/movedLines';
import { isCell } from './model/texts';
import { IBreakpointService } from './notebookBreakpoints';

/** A code cell of a notebook. */
export interface IKeptCell {
  /** The cell, whatever its text. */
  readonly key: object;
  readonly text: string;
}

/** Breakpoints at these lines of a cell. */
interface IPoints {
  text: string;
  lines: readonly number[];
}

/** The part of JupyterLab's service that is used. */
interface IService
  extends
    IBreakpointService,
    Pick<IDebugger, 'getCodeId' | 'updateBreakpoints'> {}

/** Breakpoints of a notebook whose debugger we have turned off. */
interface IKept {
  points: Map<string, IDebugger.IBreakpoint[]>;
  /** Where its kernel kept cells: names of their sources begin with it. */
  folder: IDebugger.IConfig.FileParams | undefined;
  /** Its cells with breakpoints, as they were then. */
  cells: (IKeptCell & IPoints)[];
}

/**
 * Breakpoints of notebooks whose debugger was turned off by us, and not by the user: they are there again once it is
 * turned on.
 *
 * JupyterLab and the kernel drop all breakpoints when a debugger is turned off.
 */
export class KeptBreakpoints {
  /**
   * @param _cells - code cells of the notebook at which the session is.
   */
  constructor(
    private _debug: IService,
    { restores }: Pick<DebuggerService, 'restores'>,
    private _cells: () => readonly IKeptCell[],
    onError: (error: unknown) => void
  ) {
    restores.add('kept', async (restore, turnsOn) => {
      const edited = turnsOn ? this._giveBack() : [];
      await restore(turnsOn);
      for (const { text, lines } of edited) {
        // not awaited: it is queued behind the press of the bug that this is a part of
        _debug
          .updateBreakpoints(
            text,
            lines.map(line => ({ line, verified: true }))
          )
          .catch(onError);
      }
    });
  }

  /** Turn the debugger of the session's notebook off, and keep its breakpoints. */
  async over(stop: () => Promise<void>): Promise<void> {
    const { config, model, session } = this._debug;
    const { path, kernel } = session?.connection ?? {};
    const points = new Map(
      [...model.breakpoints.breakpoints].filter(([, own]) => own.length)
    );
    const kept: IKept = {
      points,
      folder: config.getTmpFileParams(kernel?.name ?? ''),
      cells: this._cells()
        .map(cell => {
          const own = points.get(this._debug.getCodeId(cell.text)) ?? [];
          return { ...cell, lines: own.flatMap(({ line }) => line ?? []) };
        })
        .filter(({ lines }) => lines.length)
    };
    await stop();
    if (path !== undefined && points.size) {
      this._kept.set(path, kept);
    }
  }

  /**
   * Put the kept breakpoints into JupyterLab's model, which it sends to the kernel.
   *
   * @returns those of cells that were edited meanwhile, which the kernel doesn't know yet.
   */
  private _giveBack(): IPoints[] {
    const { config, model, session } = this._debug;
    const path = session?.connection?.path ?? '';
    const kept = this._kept.get(path);
    this._kept.delete(path);
    const own = [...model.breakpoints.breakpoints.values()].flat();
    if (!kept || own.length) {
      return []; // it was turned on elsewhere meanwhile: what the user has set since is newer
    }
    if (kept.folder) {
      // JupyterLab renames sources to the folder of a kernel that was restarted meanwhile
      config.setTmpFileParams(kept.folder);
    }
    const cells = this._cells();
    const used = new Set(cells.map(({ text }) => this._debug.getCodeId(text)));
    model.breakpoints.restoreBreakpoints(
      new Map(
        [...kept.points].filter(([file]) => !isCell(file) || used.has(file))
      )
    );
    return cells.flatMap(({ key, text }) => {
      const before = kept.cells.find(cell => cell.key === key);
      return before && before.text !== text ? movedTo(text, before) : [];
    });
  }

  /** Path of a notebook → its breakpoints. */
  private _kept = new Map<string, IKept>();
}

/** Breakpoints of a cell under its new text; none if no line is left for them. */
function movedTo(text: string, { text: before, lines }: IPoints): IPoints[] {
  const count = text.split('\n').length;
  const moved = lines
    .map(line => movedLine(before, text, line))
    .filter(line => line >= 1 && line <= count);
  return moved.length ? [{ text, lines: [...new Set(moved)] }] : [];
}
