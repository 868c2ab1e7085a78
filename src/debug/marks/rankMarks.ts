import { IDebugger } from '@jupyterlab/debugger';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';

import { formatRanks } from '../../metrics/format';
import { IMark, LineMarks } from './lineMarks';
import { DebugModel, DebugView, SetBreakpoint } from '../model/model';

/** The ranks at each line of a cell. */
export function marksOf(
  view: DebugView,
  path: string,
  trans: TranslationBundle
): IMark[] {
  const groups = new Map<
    string,
    { line: number; operation: string; ranks: number[] }
  >();
  for (const { rank, phase, place, operation } of view.ranks) {
    const waits = phase === 'running' && operation;
    if (place?.file !== path || !(phase === 'paused' || waits)) {
      continue;
    }
    const name = waits ? operation.name : '';
    const key = `${place.line} ${name}`;
    const group = groups.get(key) ?? {
      line: place.line,
      operation: name,
      ranks: []
    };
    group.ranks.push(rank);
    groups.set(key, group);
  }
  return [...groups.values()]
    .sort((a, b) => a.line - b.line || b.operation.localeCompare(a.operation))
    .map(({ line, operation, ranks }) => {
      const who =
        ranks.length === 1
          ? trans.__('rank %1', ranks[0])
          : trans.__('ranks %1', formatRanks(ranks));
      return {
        line,
        kind: operation ? 'waits' : 'paused',
        text: operation ? trans.__('%1, in %2', who, operation) : who
      };
    });
}

/** The breakpoints of a cell that have conditions. */
export function asksOf(
  points: readonly SetBreakpoint[],
  path: string
): IMark[] {
  return points
    .filter(p => p.path === path && (p.condition || p.hit || p.log))
    .map(({ line }) => ({ line, kind: 'asks', text: '' }));
}

/** Marks the positions of the debugged notebook's ranks beside the lines of its cells. */
export class RankMarks {
  /**
   * @param _unreported - returns the breakpoints that ask something, while no kernel reports them.
   */
  constructor(
    private _model: DebugModel,
    private _debug: IDebugger,
    private _tracker: INotebookTracker,
    private _trans: TranslationBundle,
    private _unreported: () => readonly SetBreakpoint[]
  ) {
    _model.changed.connect(this._draw, this);
    const { changed, restored } = _debug.model.breakpoints;
    changed.connect(this._draw, this);
    restored.connect(this._draw, this);
  }

  private _draw(): void {
    const { session } = this._debug;
    const path = session?.connection?.path;
    const kernel = session?.connection?.kernel?.name ?? '';
    const panel = this._tracker.find(
      p => p.sessionContext.session?.path === path
    );
    const { view } = this._model;
    const points = view?.on ? view.points : this._unreported();
    if (panel !== this._last) {
      this._each(this._last, () => []);
      this._last = panel;
    }
    this._each(panel, source => {
      if (!view && !points.length) {
        return [];
      }
      const file = this._debug.config.getCodeId(source, kernel);
      const ranks = view ? marksOf(view, file, this._trans) : [];
      return [...ranks, ...asksOf(points, file)];
    });
  }

  private _each(
    panel: NotebookPanel | undefined,
    marks: (source: string) => IMark[]
  ): void {
    if (!panel || panel.isDisposed) {
      return;
    }
    for (const cell of panel.content.widgets) {
      this._marks.put(cell, marks(cell.model.sharedModel.getSource()));
    }
  }

  private _last: NotebookPanel | undefined;
  private _marks = new LineMarks('debugger');
}
