import { CodeCell } from '@jupyterlab/cells';
import { IDebugger } from '@jupyterlab/debugger';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { KernelMessage } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';

import { cellName } from '../../locations/texts';
import { isDistributed, requestOf } from '../../output/runs/notebookDocument';
import { Cluster, ILiveState } from '../../tokens';
import { DebugView } from './model';
import { isCell } from './texts';

/** Letters of a cell's first line in its name. */
const MOST_FIRST = 24;

/** The properties of a notebook's cell from which it is named. */
export interface INamedCell {
  id: string;
  /** The execution count; null before it has ended. */
  count: number | null;
  runs: boolean;
  /** The number that its kernel gave it at its start, if this page received it. */
  begun?: number;
  /** Of a cell that has not run, beside others that haven't: the first line of its code. */
  first?: string;
}

/**
 * The name of a distributed cell, the same as everywhere: "cell [7]".
 *
 * A running cell has the number that it will get, from its kernel or its cluster. A cell that has not run is
 * "cell [ ]", as its prompt says; where several have not, the first line of its code follows.
 *
 * @param cell - the cell.
 * @param clusters - clusters that may run it.
 */
export function nameOf(
  cell: INamedCell,
  clusters: readonly Pick<Cluster, 'running'>[],
  trans: TranslationBundle
): string {
  if (cell.runs && cell.begun !== undefined) {
    return cellName(`[${cell.begun}]`, trans);
  }
  if (cell.runs) {
    for (const cluster of clusters) {
      const its = cluster.running.find(
        one => one.cell_id === cell.id && one.kind !== 'post_mortem'
      );
      if (its) {
        return cellName(its.cell, trans, its.kind);
      }
    }
    return cellName('[*]', trans);
  } else if (cell.count !== null) {
    return cellName(`[${cell.count}]`, trans);
  }
  const fresh = cellName('[\u00a0]', trans);
  return cell.first ? trans.__('%1 "%2"', fresh, cell.first) : fresh;
}

/** Key of the running cells and their numbers: while it is unchanged, so are all names. */
export function runningOf(
  clusters: readonly Pick<Cluster, 'id' | 'running'>[]
): string {
  return JSON.stringify(
    clusters.map(({ id, running }) => [
      id,
      ...running.map(({ cell, cell_id }) => [cell, cell_id])
    ])
  );
}

/** A cell, with its text and the id of that text. */
interface ICellText {
  panel: NotebookPanel;
  cell: CodeCell;
  text: string;
}

/** The number of a running cell, and the message that runs it. */
interface IBegun {
  message: string | undefined;
  count: number;
}

/** Names of distributed cells in JupyterLab's own lists of frames and breakpoints. */
export class CellNames {
  constructor(
    private _debug: Pick<IDebugger, 'getCodeId'> &
      Partial<Pick<IDebugger, 'session'>>,
    private _tracker: Pick<INotebookTracker, 'forEach' | 'widgetAdded'>,
    private _clusters: Pick<ILiveState, 'clusters'>,
    private _trans: TranslationBundle,
    private _model: { view: Pick<DebugView, 'cells' | 'on'> | null }
  ) {
    const listen = (panel: NotebookPanel): void => {
      this._texts.clear();
      panel.sessionContext.iopubMessage.connect((_, message) =>
        this._heard(panel, message)
      );
    };
    _tracker.forEach(listen);
    _tracker.widgetAdded.connect((_, panel) => listen(panel));
  }

  /** Note the start of a cell, whose number arrives before any rank can stop in it, and its end. */
  private _heard(panel: NotebookPanel, message: KernelMessage.IMessage): void {
    const input = message as KernelMessage.IIOPubMessage;
    const parent = (input.parent_header as Partial<KernelMessage.IHeader>)
      .msg_id;
    if (KernelMessage.isExecuteInputMsg(input)) {
      const { code, execution_count } = input.content;
      const cells = distributedOf(panel);
      const cell =
        cells.find(one => requestOf(one) === parent) ?? // run by this page
        cells.find(one => textOf(one) === code);
      if (cell) {
        const count = Number(execution_count);
        this._begun.set(cell, { message: parent, count });
        this._texts.clear(); // of cells with the same text, the running one is preferred
      }
    } else if (
      KernelMessage.isStatusMsg(input) &&
      input.content.execution_state === 'idle'
    ) {
      for (const cell of distributedOf(panel)) {
        if (this._begun.get(cell)?.message === parent) {
          this._begun.delete(cell);
        }
      }
    }
  }

  canHandle(source: IDebugger.Source): boolean {
    return isCell(source.path ?? '') || !!this._model.view?.on;
  }

  /**
   * The name of the cell with this text; its path if it is not a distributed cell, or not open. Of a file of
   * the ranks its name, which leaves room for the number of a line.
   */
  getDisplayName({ path = '' }: Pick<IDebugger.Source, 'path'>): string {
    return isCell(path) ? this.nameOf(path) : path.split('/').pop()!;
  }

  /** The name of the cell with this path. */
  nameOf(path: string): string {
    const job = this._model.view?.cells?.[path];
    if (job) {
      return cellName(job, this._trans); // a job's own name, not the number that the cell had in a cluster
    }
    const all = this._cellsOf(path);
    const match = all.find(({ cell }) => isRunning(cell)) ?? all.at(-1);
    if (!match) {
      return path;
    }
    const { panel, cell, text } = match;
    const named = {
      id: cell.model.id,
      count: cell.model.executionCount,
      runs: isRunning(cell),
      begun: this._begun.get(cell)?.count,
      first:
        isFresh(cell) && distributedOf(panel).filter(isFresh).length > 1
          ? firstLine(text)
          : undefined
    };
    return nameOf(named, this._clusters.clusters, this._trans);
  }

  /**
   * The name of a cell in which ranks are; in a job, whose cells need no magic, by its position: "cell [2]".
   */
  nameOfRanks(path: string): string {
    const name = this.nameOf(path);
    if (name !== path || !isCell(path)) {
      return name;
    }
    let position = 0;
    this._forEach(panel => {
      const cells = panel.content.widgets.filter(
        (cell): cell is CodeCell => cell instanceof CodeCell
      );
      const at = cells.findIndex(
        cell => this._idOf(cell, textOf(cell)) === path
      );
      position ||= at + 1;
    });
    return position ? cellName(`[${position}]`, this._trans) : path;
  }

  /** Ranks on which the cell of this path runs; null if it does not run. */
  ranksOf(path: string): readonly number[] | null {
    const cell = this._cellsOf(path).find(found => isRunning(found.cell))?.cell;
    if (!cell) {
      return null;
    }
    const running = this._clusters.clusters.flatMap(c => c.running);
    const its = running.find(
      one => one.cell_id === cell.model.id && one.kind !== 'post_mortem'
    );
    return its?.ranks ?? null;
  }

  /** The kernel that is debugged: paths of cells are its own. */
  private get _kernel(): string | undefined {
    return this._debug.session?.connection?.kernel?.id;
  }

  /** The notebooks of that kernel: in others a cell may have the same text. */
  private _forEach(each: (panel: NotebookPanel) => void): void {
    const kernel = this._kernel;
    this._tracker.forEach(panel => {
      if (!kernel || panel.sessionContext.session?.kernel?.id === kernel) {
        each(panel);
      }
    });
  }

  /** The open cells whose text has this id: ids are hashes, recomputed only if texts or the kernel change. */
  private _cellsOf(path: string): readonly ICellText[] {
    const ofKernel = `${this._kernel} ${this._debug.getCodeId('')}`;
    if (ofKernel !== this._ofKernel) {
      this._ofKernel = ofKernel;
      this._texts.clear();
      this._ids = new WeakMap();
    }
    const cached = this._texts.get(path);
    if (cached?.every(one => !one.cell.isDisposed && isStill(one))) {
      return cached;
    }
    const texts: ICellText[] = [];
    this._forEach(panel => {
      for (const cell of distributedOf(panel)) {
        const text = textOf(cell);
        if (this._idOf(cell, text) === path) {
          texts.push({ panel, cell, text });
        }
      }
    });
    if (texts.length) {
      this._texts.set(path, texts);
    } else {
      this._texts.delete(path);
    }
    return texts;
  }

  private _idOf(cell: CodeCell, text: string): string {
    const cached = this._ids.get(cell);
    if (cached?.text === text) {
      return cached.id;
    }
    const id = this._debug.getCodeId(text);
    this._ids.set(cell, { text, id });
    return id;
  }

  /** Cells that run, of all notebooks. */
  private _begun = new WeakMap<CodeCell, IBegun>();
  private _texts = new Map<string, readonly ICellText[]>();
  private _ids = new WeakMap<CodeCell, { text: string; id: string }>();
  /** The kernel, and a path without a text's id: the folder of its cells. */
  private _ofKernel = '';
}

function distributedOf(panel: NotebookPanel): CodeCell[] {
  return panel.content.widgets.filter(
    (cell): cell is CodeCell => cell instanceof CodeCell && isDistributed(cell)
  );
}

function textOf(cell: CodeCell): string {
  return cell.model.sharedModel.getSource();
}

function isStill({ cell, text }: ICellText): boolean {
  return textOf(cell) === text;
}

/** Whether a cell has no number, and will get none soon. */
function isFresh(cell: CodeCell): boolean {
  return cell.model.executionCount === null && !isRunning(cell);
}

/** The first line of a cell's code below its magics, as much of it as fits beside a line's number. */
function firstLine(text: string): string {
  const lines = text.split('\n').map(line => line.trim());
  const first = lines.find(line => line && !line.startsWith('%')) ?? '';
  return first.length > MOST_FIRST
    ? `${first.slice(0, MOST_FIRST).trimEnd()}…`
    : first;
}

function isRunning(cell: CodeCell): boolean {
  return cell.model.executionState === 'running';
}
