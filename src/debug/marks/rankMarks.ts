import { IDebugger } from '@jupyterlab/debugger';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';

import { formatRanks } from '../../metrics/format';
import { IMark, LineMarks } from './lineMarks';
import { ILiveState, Verdict } from '../../tokens';
import { blamedWord } from '../../verdicts/texts';
import { DebugModel, SetBreakpoint } from '../model/model';
import { IShownView, withAlarm, worldOf } from '../model/world';

/** The ranks at each line of a cell. */
export function marksOf(
  view: Pick<IShownView, 'ranks'>,
  path: string,
  trans: TranslationBundle
): IMark[] {
  const groups = new Map<
    string,
    { line: number; operation: string; stuck: string; ranks: number[] }
  >();
  for (const shown of view.ranks) {
    const { rank, phase, place, operation } = shown;
    const runs = phase === 'running';
    const stuck = runs ? (shown.stuck ?? '') : '';
    const waits = runs && !stuck && operation;
    if (place?.file !== path || !(phase === 'paused' || waits || stuck)) {
      continue;
    }
    const name = waits ? operation.name : '';
    const key = `${place.line} ${name} ${stuck}`;
    const group = groups.get(key) ?? {
      line: place.line,
      operation: name,
      stuck,
      ranks: []
    };
    group.ranks.push(rank);
    groups.set(key, group);
  }
  return [...groups.values()]
    .sort((a, b) => a.line - b.line || b.operation.localeCompare(a.operation))
    .map(({ line, operation, stuck, ranks }) => {
      const who = trans._n(
        'rank %2',
        'ranks %2',
        ranks.length,
        formatRanks(ranks)
      );
      if (stuck) {
        const text = trans.__('%1, %2', who, blamedWord(stuck, trans));
        return { line, kind: 'stuck', text };
      }
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

/** What marks show of an alarm: not for how long it has lasted, which each sample of the ranks changes. */
function alarmKey(alarm: Verdict | null): string {
  return alarm
    ? JSON.stringify([alarm.id, alarm.code, alarm.ranks, alarm.peers])
    : '';
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
    private _clusters: Pick<
      ILiveState,
      'clusters' | 'jobs' | 'ignored' | 'changed'
    >,
    private _trans: TranslationBundle,
    private _unreported: () => readonly SetBreakpoint[]
  ) {
    _model.changed.connect(this._draw, this);
    _clusters.changed.connect(this._alarmed, this);
    const { changed, restored } = _debug.model.breakpoints;
    changed.connect(this._draw, this);
    restored.connect(this._draw, this);
  }

  /** What is known of a job changes several times a second, which of its ranks are stuck far less often. */
  private _alarmed(): void {
    const key = alarmKey(this._alarm);
    if (key !== this._before) {
      this._before = key;
      this._draw();
    }
  }

  /** Why the debugged job does not continue; a cluster's stuck ranks are marked in every notebook already. */
  private get _alarm(): Verdict | null {
    const { job, alarm } = worldOf(this._clusters, this._model.view);
    return job === null ? null : alarm;
  }

  private _draw(): void {
    const { session } = this._debug;
    const path = session?.connection?.path;
    const panel = this._tracker.find(
      p => p.sessionContext.session?.path === path
    );
    const { view } = this._model;
    const shown =
      view && withAlarm(view, { alarm: this._alarm, ignored: null });
    const points = view?.on ? view.points : this._unreported();
    if (panel !== this._last) {
      this._each(this._last, () => []);
      this._last = panel;
    }
    this._each(panel, source => {
      if (!view && !points.length) {
        return [];
      }
      // empty until JupyterLab has asked the kernel how it names cells, as after a reload
      const file = this._debug.getCodeId(source);
      const ranks = shown ? marksOf(shown, file, this._trans) : [];
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

  private _before = '';
  private _last: NotebookPanel | undefined;
  private _marks = new LineMarks('debugger');
}
