import { IDebugger } from '@jupyterlab/debugger';

import { Report } from './names';
import { MethodSteps } from './steps';

/** How JupyterLab looks for the editors of a source. */
export type EditorSearch = MethodSteps<
  IDebugger.ISources['find'],
  'open files'
>;

/** JupyterLab's search for the editors of a source; it is public, but not made to be replaced. */
export function editorSearchOf(
  sources: Partial<Pick<IDebugger.ISources, 'find'>>,
  report: Report
): EditorSearch {
  return new MethodSteps(sources, 'find', ['open files'], () =>
    report('IDebugger.ISources.find')
  );
}
