import { CodeCell } from '@jupyterlab/cells';
import { IDebugger } from '@jupyterlab/debugger';
import { INotebookTracker } from '@jupyterlab/notebook';

/** The part of JupyterLab's service that is used. */
type Service = Pick<IDebugger, 'session' | 'getCodeId'> & {
  readonly model: { readonly callstack: IDebugger.Model.ICallstack };
};

/**
 * Highlight the line of the current frame in a cell whose editor was set up after the frame was chosen.
 *
 * JupyterLab highlights a line when the frame changes. After a reload of the page, it asks the kernel for the
 * frames before it sets up the editors of the cells.
 */
export async function highlightCurrentLine(
  service: Service,
  tracker: Pick<INotebookTracker, 'find'>
): Promise<void> {
  const { session } = service;
  const { callstack } = service.model;
  const { frame } = callstack;
  const path = session?.connection?.path;
  const panel = tracker.find(p => p.sessionContext.session?.path === path);
  const cell = panel?.content.widgets.find(
    (each): each is CodeCell =>
      each instanceof CodeCell &&
      service.getCodeId(each.model.sharedModel.getSource()) ===
        frame?.source?.path
  );
  if (!frame || !cell) {
    return;
  }
  await cell.ready;
  await new Promise(done => window.setTimeout(done)); // JupyterLab waits for the same, and a moment longer
  const isMarked = cell.node.querySelector('.jp-DebuggerEditor-highlight');
  if (!cell.isDisposed && !isMarked && callstack.frame === frame) {
    callstack.frame = frame; // emits its signal
  }
}
