import { IDebugger } from '@jupyterlab/debugger';

import { DebuggerService } from '../jupyterlab/debuggerService';
import { movedLine } from './model/movedLines';

/** A code cell of the notebook that is debugged. */
export interface IEditedCell {
  /** The cell, whatever its text. */
  readonly key: object;
  readonly text: string;
  /** Lines with a dot in its gutter; null if the page has not drawn all of them. */
  readonly dots: () => readonly number[] | null;
}

/** A breakpoint as the kernel receives it. */
export interface ISentPoint {
  line: number;
}

/** The part of JupyterLab's service that is used. */
type Service = Pick<IDebugger, 'getCodeId'> & {
  readonly model: {
    readonly breakpoints: Pick<
      IDebugger.Model.IBreakpoints,
      | 'breakpoints'
      | 'getBreakpoints'
      | 'setBreakpoints'
      | 'changed'
      | 'restored'
    >;
  };
};

/** What is sent, and where cells are found. */
export interface IEditedParts {
  /** Code cells of the notebook whose ranks are debugged; none if no ranks are. */
  cells: () => readonly IEditedCell[];
  /** Send a request to its kernel at once: whatever is sent later arrives later. */
  send: (command: string, args: Record<string, unknown>) => void;
  /** Breakpoints at these lines of a new text, with their conditions. */
  asking: (text: string, lines: readonly number[]) => readonly ISentPoint[];
}

/**
 * Breakpoints of cells that are run right after an edit.
 *
 * For the debugger, an edited cell is a new source. JupyterLab sends the breakpoints of its new text a second
 * after the last key, so a cell that is run before would not stop; and it never removes those of texts that
 * no cell has any more, so its list would grow by one row with each edit. This class does both before a cell
 * is run, and whenever breakpoints are updated.
 */
export class EditedCells {
  constructor(
    private _debug: Service,
    { updates }: Pick<DebuggerService, 'updates'>,
    private _parts: IEditedParts
  ) {
    const { breakpoints } = _debug.model;
    // connected before any editor is, so that an editor draws its dots after this
    breakpoints.changed.connect(this._follow, this);
    breakpoints.restored.connect(() => {
      this._putBack();
      this._follow();
      // the kernel may have answered before it received that those of a text are removed
      this.send();
    });
    updates.add('edits', async (update, ...args) => {
      // it reads all breakpoints anew, which would remove the dots of cells whose new text has none yet
      this.send();
      this._sentMeanwhile = new Map();
      try {
        await update(...args);
      } finally {
        this._sentMeanwhile = null;
      }
      this.send();
    });
  }

  /** Called right before a cell is run. */
  begins(key: object): void {
    const cell = this._parts.cells().find(each => each.key === key);
    if (cell) {
      this.send();
      this._runs.push({ key, path: this._pathOf(cell.text) });
    }
  }

  /** Called once a cell has run. */
  ended(key: object): void {
    const at = this._runs.findIndex(run => run.key === key);
    if (at >= 0) {
      this._runs.splice(at, 1);
      this.send();
    }
  }

  /** Called when the kernel has ended, and with it what it ran. */
  endedAll(): void {
    this._runs = [];
  }

  /** Send the breakpoints of edited cells for their new text, and remove those of texts that are gone. */
  send(): void {
    const cells = this._parts.cells();
    if (!cells.length) {
      return;
    }
    const { breakpoints } = this._debug.model;
    this._move(cells);
    const used = [
      ...cells.map(cell => this._pathOf(cell.text)),
      ...this._runs.map(run => run.path)
    ];
    const listed = [...breakpoints.breakpoints]
      .filter(([, points]) => points.length)
      .map(([path]) => path);
    for (const path of goneSources(listed, this._known, used)) {
      this._set(path, []);
      this._sentMeanwhile?.delete(path);
      breakpoints.setBreakpoints(path, []);
    }
  }

  /** Send the breakpoints of edited cells for their new text. */
  private _move(cells: readonly IEditedCell[]): void {
    const { breakpoints } = this._debug.model;
    // before any is set: that draws all gutters anew, from what is known of the new texts
    const moved = cells.flatMap(cell => {
      const before = this._texts.get(cell.key);
      const current = this._linesOf(cell.text);
      if (before === undefined || before === cell.text || current.length) {
        return [];
      }
      const lines = linesAfterEdit(
        before,
        cell.text,
        this._linesOf(before),
        cell.dots
      );
      return lines.length ? [{ text: cell.text, lines }] : [];
    });
    this._moves = true;
    try {
      for (const { text, lines } of moved) {
        const path = this._pathOf(text);
        this._parts.send('dumpCell', { code: text });
        this._set(path, this._parts.asking(text, lines));
        const points = lines.map(line => ({
          line,
          verified: true,
          source: { path }
        }));
        this._sentMeanwhile?.set(path, points);
        breakpoints.setBreakpoints(path, points);
      }
    } finally {
      this._moves = false;
    }
  }

  /**
   * Called when breakpoints have changed, and before editors draw them.
   *
   * Where a kernel is slow, the answer to an earlier update comes while the user types, and the dots of the text
   * that has been typed so far, of which nothing is known yet, would be removed.
   */
  private _follow(): void {
    if (!this._moves) {
      this._move(this._parts.cells());
    }
    this._remember();
  }

  /** JupyterLab has replaced all breakpoints by the kernel's, as they were before the latest were sent. */
  private _putBack(): void {
    const { breakpoints } = this._debug.model;
    for (const [path, points] of this._sentMeanwhile ?? []) {
      if (!breakpoints.getBreakpoints(path).length) {
        breakpoints.setBreakpoints(path, points);
      }
    }
  }

  private _set(path: string, breakpoints: readonly ISentPoint[]): void {
    const args = { source: { path }, breakpoints, sourceModified: false };
    this._parts.send('setBreakpoints', args);
  }

  /** Store the text of each cell that has breakpoints: an edit is noticed by comparison with it. */
  private _remember(): void {
    for (const { key, text } of this._parts.cells()) {
      if (this._linesOf(text).length) {
        this._texts.set(key, text);
        this._known.add(nameOf(this._pathOf(text)));
      }
    }
  }

  private _linesOf(text: string): number[] {
    return this._debug.model.breakpoints
      .getBreakpoints(this._pathOf(text))
      .flatMap(({ line }) => line ?? []);
  }

  private _pathOf(text: string): string {
    return this._debug.getCodeId(text);
  }

  /** Cell → its last text that had breakpoints. */
  private _texts = new WeakMap<object, string>();
  /** Whether breakpoints are being moved: each that is set emits `changed`. */
  private _moves = false;
  /** Path → breakpoints that were sent while JupyterLab updates others; null while it doesn't. */
  private _sentMeanwhile: Map<string, IDebugger.IBreakpoint[]> | null = null;
  /** Names of texts with breakpoints that cells of notebooks had: others belong to consoles. */
  private _known = new Set<string>();
  /** Cells that run or wait to: an edit does not change what runs. */
  private _runs: { key: object; path: string }[] = [];
}

/**
 * Lines of an edited cell's breakpoints.
 *
 * @param lines - its breakpoints in the text before.
 * @param dots - gives the lines with a dot now, which is what the user sees; null where that is not known.
 */
export function linesAfterEdit(
  before: string,
  after: string,
  lines: readonly number[],
  dots: () => readonly number[] | null
): number[] {
  if (!lines.length) {
    return [];
  }
  const count = after.split('\n').length;
  const moved =
    dots() ??
    lines
      .map(line => movedLine(before, after, line))
      .filter(line => line >= 1 && line <= count);
  return [...new Set(moved)].sort((a, b) => a - b);
}

/**
 * Sources of cells that no cell has any more.
 *
 * @param listed - paths that have breakpoints.
 * @param known - names of sources that cells of notebooks have had.
 * @param used - paths of the texts that cells have, or run.
 */
export function goneSources(
  listed: readonly string[],
  known: ReadonlySet<string>,
  used: readonly string[]
): string[] {
  const names = new Set(used.map(nameOf));
  return listed.filter(
    path => known.has(nameOf(path)) && !names.has(nameOf(path))
  );
}

/** A source's name, without the folder of cells, which differs between kernels. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
