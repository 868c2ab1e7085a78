import { Debugger, IDebugger } from '@jupyterlab/debugger';
import { NotebookPanel } from '@jupyterlab/notebook';
import { Session } from '@jupyterlab/services';

import { Report } from './names';
import { MethodSteps } from './steps';

/** Asks a notebook's kernel for the state of its debugger. */
export type Query = (
  panel: NotebookPanel,
  connection: Session.ISessionConnection | null
) => Promise<void>;

/**
 * JupyterLab's queries of kernels: `updateWidget` of its handler, which the handler's interface does not list.
 *
 * @param handler - JupyterLab's handler of notebooks; null in a front end without one.
 */
export function queriesOf(
  handler: IDebugger.IHandler | Pick<Debugger.Handler, 'updateWidget'> | null,
  report: Report
): MethodSteps<Query, 'queue'> | null {
  return (
    handler &&
    new MethodSteps(handler, 'updateWidget', ['queue'], () =>
      report('Debugger.Handler.updateWidget')
    )
  );
}
