import { IDebugger } from '@jupyterlab/debugger';
import { TranslationBundle } from '@jupyterlab/translation';

import { SetBreakpoint } from './model';
import { isCell, lineOf } from './texts';

/** A breakpoint of JupyterLab, with its conditions on ranks. */
export interface IPoint {
  /** Its line, as the messages of conditions name it: "cell [9], line 6", "model.py:42". */
  name: string;
  path: string;
  line: number;
  /** The breakpoint on ranks; null if no rank has it. */
  asks: SetBreakpoint | null;
  /** JupyterLab's own breakpoint; null if only ranks have it. */
  own: IDebugger.IBreakpoint | null;
}

/** The part of JupyterLab's model that is used: 4.2 has no names for places. */
export type BreakpointModel = Pick<
  IDebugger.Model.IBreakpoints,
  'breakpoints'
> &
  Partial<Pick<IDebugger.Model.IBreakpoints, 'getDisplayName'>>;

/**
 * JupyterLab's breakpoints that ask something, by what the page knows: a kernel reports none before it has
 * loaded our extension.
 *
 * @param given - what the breakpoint at a line asks.
 */
export function pointsWithConditions(
  model: BreakpointModel,
  given: (path: string, line: number) => SetBreakpoint | null
): SetBreakpoint[] {
  return [...model.breakpoints].flatMap(([file, points]) =>
    points.flatMap(
      ({ source, line }) => given(source?.path ?? file, line ?? 0) ?? []
    )
  );
}

/**
 * All breakpoints: JupyterLab's own, and those that exist only on ranks.
 *
 * @param ours - names a place if JupyterLab does not.
 * @param kernel - path of any cell of the kernel; empty where it is not known.
 */
export function pointsOf(
  model: BreakpointModel,
  asked: readonly SetBreakpoint[],
  ours: (path: string) => string,
  trans: TranslationBundle,
  kernel = ''
): IPoint[] {
  // after a restart, cells have another folder: omit breakpoints that the previous kernel reported
  const folder = kernel.slice(0, kernel.lastIndexOf('/') + 1);
  asked = asked.filter(a => !isCell(a.path) || a.path.startsWith(folder));
  const name = (point: IDebugger.IBreakpoint): string => {
    const path = point.source?.path ?? '';
    const its = model.getDisplayName?.(point) ?? ours(path);
    // a path of many folders leaves no room for the line
    const name = isCell(path) ? its : its.slice(its.lastIndexOf('/') + 1);
    return lineOf({ path, name, line: point.line ?? 0 }, trans);
  };
  const listed: IPoint[] = [];
  for (const [file, points] of model.breakpoints) {
    for (const own of points) {
      const path = own.source?.path ?? file;
      const line = own.line ?? 0;
      const asks = asked.find(a => a.path === path && a.line === line) ?? null;
      listed.push({ name: name(own), path, line, asks, own });
    }
  }
  for (const asks of asked) {
    const { path, line } = asks;
    if (!listed.some(p => p.path === path && p.line === line)) {
      const bare = { source: { path }, line, verified: true };
      listed.push({
        name: name(bare as IDebugger.IBreakpoint),
        path,
        line,
        asks,
        own: null
      });
    }
  }
  return listed.sort((a, b) => a.path.localeCompare(b.path) || a.line - b.line);
}
