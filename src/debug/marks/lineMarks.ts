import { RangeSet, StateEffect, StateField } from '@codemirror/state';
import {
  Decoration,
  DecorationSet,
  EditorView,
  gutterLineClass,
  GutterMarker,
  WidgetType
} from '@codemirror/view';
import { Cell } from '@jupyterlab/cells';
import { CodeMirrorEditor } from '@jupyterlab/codemirror';

/**
 * A mark at a line: ranks that are paused there, wait in a collective, or are awaited by others.
 *
 * `asks`: a breakpoint with a condition, beside which nothing is written.
 */
export interface IMark {
  line: number;
  kind: 'paused' | 'waits' | 'stuck' | 'asks';
  text: string;
}

interface IShow {
  owner: string;
  marks: readonly IMark[];
}

const show = StateEffect.define<IShow>();
/** Space between code and marks, px. */
const BESIDE = 24;

/** The label at the end of a line, with its ranks. */
class Marks extends WidgetType {
  constructor(private _marks: readonly IMark[]) {
    super();
  }

  override eq(other: Marks): boolean {
    return JSON.stringify(other._marks) === JSON.stringify(this._marks);
  }

  toDOM(view: EditorView): HTMLElement {
    const node = document.createElement('span');
    node.className = 'jp-DtrainDebug-marks';
    for (const { kind, text } of this._marks) {
      const mark = document.createElement('span');
      mark.dataset.kind = kind;
      mark.textContent = text;
      node.appendChild(mark);
    }
    const observer = new ResizeObserver(() => place(node, view));
    observer.observe(view.scrollDOM);
    this._observers.set(node, observer);
    return node;
  }

  override destroy(node: HTMLElement): void {
    this._observers.get(node)?.disconnect();
  }

  private _observers = new WeakMap<HTMLElement, ResizeObserver>();
}

/** Place marks beside the code of their line, or below it if they would cover it. */
function place(node: HTMLElement, view: EditorView): void {
  view.requestMeasure({
    key: node,
    read: () => {
      const line = node.parentElement;
      if (!line) {
        return false;
      }
      const code = document.createRange();
      code.setStart(line, 0);
      code.setEndBefore(node);
      const { left } = line.getBoundingClientRect();
      const { right } = code.getBoundingClientRect();
      const room = view.scrollDOM.clientWidth - Math.max(0, right - left);
      const widths = [...node.children].map(
        mark => (mark as HTMLElement).offsetWidth + BESIDE
      );
      return room < widths.reduce((sum, width) => sum + width, 0);
    },
    write: below => {
      if (node.hasAttribute('data-below') !== below) {
        node.toggleAttribute('data-below', below);
        // the line's height has changed
        view.requestMeasure();
      }
    }
  });
}

/** Marks by owner, and their decorations. */
interface IDrawn {
  marks: Readonly<Record<string, readonly IMark[]>>;
  decorations: DecorationSet;
  /** Lines whose breakpoints have conditions. */
  asking: RangeSet<GutterMarker>;
}

/**
 * All marks. If two owners mark ranks that wait at the same line: the first owner's, or only those of the owner
 * that marks ranks at fault there.
 */
export function shownOf(
  marks: Readonly<Record<string, readonly IMark[]>>
): IMark[] {
  const all: IMark[] = [];
  const owners = new Map<number, string>();
  for (const kind of ['stuck', 'waits']) {
    for (const [owner, some] of Object.entries(marks)) {
      for (const { line } of some.filter(m => m.kind === kind)) {
        owners.set(line, owners.get(line) ?? owner);
      }
    }
  }
  for (const [owner, some] of Object.entries(marks)) {
    all.push(
      ...some.filter(m => m.kind !== 'waits' || owners.get(m.line) === owner)
    );
  }
  return all;
}

const field = StateField.define<IDrawn>({
  create: () => ({
    marks: {},
    decorations: Decoration.none,
    asking: RangeSet.empty
  }),
  update: (drawn, transaction) => {
    let { marks } = drawn;
    for (const effect of transaction.effects) {
      if (effect.is(show)) {
        marks = { ...marks, [effect.value.owner]: effect.value.marks };
      }
    }
    if (marks === drawn.marks) {
      const { changes } = transaction;
      const decorations = drawn.decorations.map(changes);
      return { marks, decorations, asking: drawn.asking.map(changes) };
    }
    const all = shownOf(marks);
    const { doc } = transaction.state;
    return {
      marks,
      decorations: decorate(
        all.filter(m => m.kind !== 'asks'),
        doc
      ),
      asking: asking(all, doc)
    };
  },
  provide: value => [
    EditorView.decorations.from(value, d => d.decorations),
    gutterLineClass.from(value, d => d.asking)
  ]
});

const markedLine = Decoration.line({ class: 'jp-DtrainDebug-markedLine' });
const stuckLine = Decoration.line({
  class: 'jp-DtrainDebug-markedLine jp-DtrainDebug-stuckLine'
});

function decorate(
  marks: readonly IMark[],
  doc: EditorView['state']['doc']
): DecorationSet {
  const lines = [...new Set(marks.map(m => m.line))].filter(
    line => line >= 1 && line <= doc.lines
  );
  const ranges = lines.flatMap(number => {
    const here = marks.filter(m => m.line === number);
    const line = doc.line(number);
    const widget = new Marks(here);
    const end = Decoration.widget({ widget, side: 1 }).range(line.to);
    const stuck = here.some(m => m.kind === 'stuck');
    return [(stuck ? stuckLine : markedLine).range(line.from), end];
  });
  return Decoration.set(ranges, true);
}

/** Draws the breakpoint of its line as a diamond. */
class Asks extends GutterMarker {
  override elementClass = 'jp-DtrainDebug-asks';
}

const asks = new Asks();

function asking(
  marks: readonly IMark[],
  doc: EditorView['state']['doc']
): RangeSet<GutterMarker> {
  const lines = marks.filter(m => m.kind === 'asks').map(m => m.line);
  return RangeSet.of(
    [...new Set(lines)]
      .filter(line => line >= 1 && line <= doc.lines)
      .map(line => asks.range(doc.line(line).from)),
    true
  );
}

/** Editors that already have the field. */
const prepared = new WeakSet<CodeMirrorEditor>();

/**
 * Marks at lines of cells, by one owner: a debugger or a verdict. Marks of other owners are unaffected.
 */
export class LineMarks {
  constructor(private _owner: string) {}

  /**
   * Show these marks of this owner in a cell, replacing its earlier ones; a cell that was never in view has
   * no lines yet.
   */
  put(cell: Cell, marks: readonly IMark[]): void {
    const { editor } = cell;
    if (!(editor instanceof CodeMirrorEditor) || cell.model.type !== 'code') {
      return;
    }
    const text = JSON.stringify(marks);
    if (text === (this._shown.get(editor) ?? '[]')) {
      return;
    }
    if (!prepared.has(editor)) {
      prepared.add(editor);
      editor.injectExtension(field);
    }
    this._shown.set(editor, text);
    editor.editor.dispatch({
      effects: show.of({ owner: this._owner, marks })
    });
  }

  /** Editor → its marks as text, for comparison. */
  private _shown = new WeakMap<CodeMirrorEditor, string>();
}
