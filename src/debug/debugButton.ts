import { IDebugger } from '@jupyterlab/debugger';
import { NotebookPanel } from '@jupyterlab/notebook';

import { pressBug } from '../jupyterlab/debugButton';

/** A kernel's debugger: whether it is on, and whether ranks are debugged with it and not from another notebook. */
export interface IKernelDebugger {
  isStarted?: boolean;
  holdsRanks?: boolean;
}

/** Whether the kernel is being debugged; after a reload, the page receives this state late. */
export async function isDebugged(panel: NotebookPanel): Promise<boolean> {
  return !!(await debuggerOf(panel)).isStarted;
}

/** The debugger of a notebook's kernel, as the kernel knows it. */
export async function debuggerOf(
  panel: NotebookPanel
): Promise<IKernelDebugger> {
  const kernel = panel.sessionContext.session?.kernel;
  const future = kernel?.requestDebug({
    seq: 0,
    type: 'request',
    command: 'debugInfo',
    arguments: {}
  });
  const answer = (await future?.done)?.content;
  return (answer?.body ?? {}) as IKernelDebugger;
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
