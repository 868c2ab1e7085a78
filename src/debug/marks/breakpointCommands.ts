import { JupyterFrontEnd } from '@jupyterlab/application';
import { CodeCell } from '@jupyterlab/cells';
import { IDebugger } from '@jupyterlab/debugger';
import { IEditorTracker } from '@jupyterlab/fileeditor';
import { INotebookTracker } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';
import { EditorView } from '@codemirror/view';

import { CommandIDs } from '../../commands';
import {
  clickBeside,
  isSetUp,
  viewIn,
  whenPointsChange
} from '../../jupyterlab/breakpointGutter';
import { DEBUGGER_SIDEBAR } from '../../jupyterlab/markup';
import { serverRoot } from '../../locations/serverRoot';
import { tellBriefly } from '../../ui/text/toast';
import { pathOf } from './openFiles';
import { CellNames } from '../model/cellNames';
import { IPoint, pointsOf } from '../model/breakpoints';
import { DebugModel, SetBreakpoint } from '../model/model';

/** Commands for the breakpoint on the cursor's line, which the palette offers. */
export const BREAKPOINT_COMMANDS = [
  CommandIDs.toggleBreakpoint,
  CommandIDs.editBreakpoint
];

/** What these commands use. */
export interface IBreakpointParts {
  app: JupyterFrontEnd;
  tracker: INotebookTracker;
  debug: IDebugger;
  model: Pick<DebugModel, 'view' | 'edit'>;
  /** Resolves once no kernel is queried: a click counts only then. */
  queue: { idle: () => Promise<void> };
  trans: TranslationBundle;
  /** Null in a front end without a file editor. */
  files: IEditorTracker | null;
  names: Pick<CellNames, 'nameOf'>;
  /** Breakpoints that ask something, as the page keeps them. */
  unreported: () => readonly SetBreakpoint[];
}

/** The code where the user is. */
interface ICurrentCode {
  node: HTMLElement;
  view: EditorView;
  /** Path of its breakpoints; empty if unknown. */
  path: string;
}

/**
 * Add commands that do by the keyboard what is done in the gutter and in the list of breakpoints: JupyterLab has a
 * breakpoint set by a click only, and screen readers don't read its gutter.
 */
export function addBreakpointCommands(parts: IBreakpointParts): void {
  const { app, model, trans } = parts;
  const isEnabled = (): boolean => codeOf(parts) !== null;
  const caption = (does: string) => (): string =>
    isEnabled()
      ? does
      : trans.__('Go to a line of a code cell, or of a Python file');
  const describedBy = { args: { type: 'object' as const, properties: {} } };
  app.commands.addCommand(CommandIDs.toggleBreakpoint, {
    label: trans.__('Toggle Breakpoint on This Line'),
    caption: caption(
      trans.__("Set, or remove, a breakpoint on the cursor's line")
    ),
    isEnabled,
    describedBy,
    execute: () => toggle(parts)
  });
  app.commands.addCommand(CommandIDs.editBreakpoint, {
    label: trans.__('Edit Breakpoint on This Line…'),
    caption: caption(
      trans.__("Edit the condition of the breakpoint on the cursor's line")
    ),
    isEnabled,
    describedBy,
    execute: () => {
      const code = readyCode(parts);
      if (!code) {
        return;
      }
      const line = lineOf(code);
      const point = pointsIn(parts).find(
        p => p.path === code.path && p.line === line
      );
      if (!point) {
        tellBriefly(
          trans.__(
            'Line %1 has no breakpoint: set one with "Toggle Breakpoint on This Line".',
            line
          ),
          'info'
        );
      } else if (!point.asks || !model.view?.on) {
        tellBriefly(
          trans.__('No rank has this breakpoint: only ranks have conditions.'),
          'info'
        );
      } else {
        app.shell.activateById(DEBUGGER_SIDEBAR);
        model.edit(point.path, line);
      }
    }
  });
}

/** Click beside the cursor's line, and say what that has done. */
async function toggle(parts: IBreakpointParts): Promise<void> {
  const { debug, queue, trans } = parts;
  const code = readyCode(parts);
  if (!code) {
    return;
  }
  const line = lineOf(code);
  if (!code.view.state.doc.line(line).text.trim()) {
    tellBriefly(
      trans.__('Line %1 is empty: go to a line with code.', line),
      'info'
    );
    return;
  }
  await queue.idle(); // the session may be on its way to this notebook's kernel
  const before = pointsIn(parts);
  const changed = whenPointsChange(debug.model.breakpoints);
  clickBeside({ view: code.view, line });
  await changed;
  const text = changeText(before, pointsIn(parts), trans);
  if (text) {
    tellBriefly(text, 'info');
  }
}

/**
 * What has become of breakpoints: "Breakpoint set: cell [7], line 3."; empty if they are the same.
 *
 * @param before - all of them, as they were.
 */
export function changeText(
  before: readonly Pick<IPoint, 'name' | 'path' | 'line'>[],
  after: readonly Pick<IPoint, 'name' | 'path' | 'line'>[],
  trans: TranslationBundle
): string {
  const lacks = (points: typeof before, point: (typeof before)[0]): boolean =>
    !points.some(p => p.path === point.path && p.line === point.line);
  const added = after.find(point => lacks(before, point));
  const removed = before.find(point => lacks(after, point));
  if (added) {
    return trans.__('Breakpoint set: %1.', added.name);
  }
  return removed ? trans.__('Breakpoint removed: %1.', removed.name) : '';
}

/** The code where the user is, if it has a gutter for breakpoints; null if not, which the user is told. */
function readyCode(parts: IBreakpointParts): ICurrentCode | null {
  const code = codeOf(parts);
  if (code && isSetUp(code.node)) {
    return code;
  }
  tellBriefly(
    parts.trans.__(
      "There are breakpoints once the debugger is on: turn it on with the bug in the notebook's toolbar."
    ),
    'info'
  );
  return null;
}

function lineOf({ view }: ICurrentCode): number {
  return view.state.doc.lineAt(view.state.selection.main.head).number;
}

/** All breakpoints, with their names. */
function pointsIn({
  debug,
  model,
  names,
  unreported,
  trans
}: IBreakpointParts): IPoint[] {
  const asked = model.view?.on ? model.view.points : unreported();
  const name = (path: string): string => names.nameOf(path);
  return pointsOf(debug.model.breakpoints, asked, name, trans);
}

/** The active code cell, or the file, of the tab that is in front. */
function codeOf({
  app,
  tracker,
  files,
  debug
}: IBreakpointParts): ICurrentCode | null {
  const { currentWidget } = app.shell;
  const panel = tracker.currentWidget;
  const cell = panel?.content.activeCell;
  if (panel && panel === currentWidget && cell instanceof CodeCell) {
    const view = viewIn(cell.node);
    const path = debug.getCodeId(cell.model.sharedModel.getSource());
    return view && { node: cell.node, view, path };
  }
  const file = files?.currentWidget;
  if (file && file === currentWidget) {
    const view = viewIn(file.node);
    const path = pathOf(file, serverRoot());
    return view && path ? { node: file.node, view, path } : null;
  }
  return null;
}
