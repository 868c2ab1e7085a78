import { StateEffect, StateField } from '@codemirror/state';
import {
  Decoration,
  DecorationSet,
  EditorView,
  WidgetType
} from '@codemirror/view';
import { IDebugger } from '@jupyterlab/debugger';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';

import { formatRanks } from '../ui/format';
import { DebugModel, DebugView } from './model';

/** Ranks that stand at a line, or wait there in a collective. */
export interface IMark {
  line: number;
  kind: 'paused' | 'waits';
  text: string;
}

/** Which ranks are at which lines of a cell. */
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

const show = StateEffect.define<readonly IMark[]>();

/** At the end of a line: who is there. */
class Marks extends WidgetType {
  constructor(private _marks: readonly IMark[]) {
    super();
  }

  override eq(other: Marks): boolean {
    return JSON.stringify(other._marks) === JSON.stringify(this._marks);
  }

  toDOM(): HTMLElement {
    const node = document.createElement('span');
    node.className = 'jp-Dtrain-marks';
    for (const { kind, text } of this._marks) {
      const mark = document.createElement('span');
      mark.dataset.kind = kind;
      mark.textContent = text;
      node.appendChild(mark);
    }
    return node;
  }
}

const field = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (decorations, transaction) => {
    for (const effect of transaction.effects) {
      if (effect.is(show)) {
        return decorate(effect.value, transaction.state.doc);
      }
    }
    return decorations.map(transaction.changes);
  },
  provide: value => EditorView.decorations.from(value)
});

function decorate(
  marks: readonly IMark[],
  doc: EditorView['state']['doc']
): DecorationSet {
  const lines = [...new Set(marks.map(m => m.line))].filter(
    line => line >= 1 && line <= doc.lines
  );
  return Decoration.set(
    lines.map(line => {
      const here = marks.filter(m => m.line === line);
      const widget = new Marks(here);
      return Decoration.widget({ widget, side: 1 }).range(doc.line(line).to);
    })
  );
}

/** What is used of JupyterLab's editor. */
interface IEditor {
  editor: EditorView;
  injectExtension: (extension: typeof field) => void;
}

/** Where the ranks of the debugged notebook are, beside the lines of its cells. */
export class RankMarks {
  constructor(
    private _model: DebugModel,
    private _debug: IDebugger,
    private _tracker: INotebookTracker,
    private _trans: TranslationBundle
  ) {
    _model.changed.connect(this._draw, this);
  }

  private _draw(): void {
    const { session } = this._debug;
    const path = session?.connection?.path;
    const kernel = session?.connection?.kernel?.name ?? '';
    const panel = this._tracker.find(
      p => p.sessionContext.session?.path === path
    );
    const view = this._model.view;
    if (panel !== this._last) {
      this._each(this._last, () => []);
      this._last = panel;
    }
    this._each(panel, source =>
      view
        ? marksOf(
            view,
            this._debug.config.getCodeId(source, kernel),
            this._trans
          )
        : []
    );
  }

  private _each(
    panel: NotebookPanel | undefined,
    marks: (source: string) => IMark[]
  ): void {
    if (!panel || panel.isDisposed) {
      return;
    }
    for (const cell of panel.content.widgets) {
      const editor = cell.editor as unknown as IEditor | null;
      if (!editor || cell.model.type !== 'code') {
        continue;
      }
      const wanted = marks(cell.model.sharedModel.getSource());
      const text = JSON.stringify(wanted);
      if (text === (this._shown.get(editor) ?? '[]')) {
        continue;
      }
      if (!this._shown.has(editor)) {
        editor.injectExtension(field);
      }
      this._shown.set(editor, text);
      editor.editor.dispatch({ effects: show.of(wanted) });
    }
  }

  private _last: NotebookPanel | undefined;
  /** Editor → the marks that it shows, as text. */
  private _shown = new WeakMap<IEditor, string>();
}
