import { IDebugger } from '@jupyterlab/debugger';
import { NotebookPanel } from '@jupyterlab/notebook';

import { pressBug } from '../jupyterlab/debugButton';

/** Whether the kernel is being debugged; after a reload, the page receives this state late. */
export async function isDebugged(panel: NotebookPanel): Promise<boolean> {
  const kernel = panel.sessionContext.session?.kernel;
  const future = kernel?.requestDebug({
    seq: 0,
    type: 'request',
    command: 'debugInfo',
    arguments: {}
  });
  const answer = (await future?.done)?.content;
  return !!answer?.body?.isStarted;
}

/**
 * Press the bug button of the current notebook: JupyterLab has no command for it.
 *
 * Once its debugger is on, JupyterLab shows the globals, even if a rank has stopped in the meantime; then
 * that rank's variables are shown again.
 */
export async function pressDebugButton(
  panel: NotebookPanel,
  service: IDebugger,
  queue: { idle(): Promise<void> }
): Promise<void> {
  await pressBug(panel);
  await queue.idle(); // a press is queued, and other kernels may be queried after it
  // as it starts, JupyterLab drops the frames of a rank that has stopped meanwhile: reload them
  await service.restoreState(false);
  const { callstack } = service.model;
  const { frame } = callstack;
  if (service.hasStoppedThreads() && frame) {
    callstack.frame = frame; // its signal makes the service request the frame's variables
  }
}
