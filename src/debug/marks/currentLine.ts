import { CodeCell } from '@jupyterlab/cells';
import { IDebugger } from '@jupyterlab/debugger';
import { INotebookTracker } from '@jupyterlab/notebook';

import { hasCurrentLine, isSetUp } from '../../jupyterlab/breakpointGutter';

/** The part of JupyterLab's service that is used. */
type Service = Pick<IDebugger, 'session' | 'getCodeId'> & {
  readonly model: {
    readonly callstack: Pick<
      IDebugger.Model.ICallstack,
      'frame' | 'currentFrameChanged'
    >;
  };
};

/**
 * Highlight the line of the current frame in a cell whose editor was set up after the frame was chosen.
 *
 * JupyterLab highlights a line when the frame changes. After a reload of the page, it asks the kernel for the
 * frames before it sets up the editors of the cells.
 *
 * @returns ends once the line is highlighted, or isn't the current one any more.
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
  const goesOn = (): boolean => !cell.isDisposed && callstack.frame === frame;
  await setUp(cell, callstack.currentFrameChanged, goesOn);
  if (goesOn() && !hasCurrentLine(cell.node)) {
    callstack.frame = frame; // emits its signal
  }
}

/**
 * Wait until JupyterLab has set up a cell's editor.
 *
 * @param changed - emitted when `goesOn` may have changed, as the cell's own end is.
 * @param goesOn - whether to go on waiting.
 */
async function setUp(
  cell: CodeCell,
  changed: IDebugger.Model.ICallstack['currentFrameChanged'],
  goesOn: () => boolean
): Promise<void> {
  await new Promise<void>(resolve => {
    const look = (): void => {
      if (!goesOn() || isSetUp(cell.node)) {
        observer.disconnect();
        changed.disconnect(look);
        cell.disposed.disconnect(look);
        resolve();
      }
    };
    const observer = new MutationObserver(look);
    observer.observe(cell.node, { childList: true, subtree: true });
    changed.connect(look);
    cell.disposed.connect(look);
    look();
  });
}
