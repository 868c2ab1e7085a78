import { IDebugger } from '@jupyterlab/debugger';
import { Kernel, KernelMessage } from '@jupyterlab/services';

import { sendUnlisted } from '../../jupyterlab/debuggerSession';

type Request = KernelMessage.IDebugRequestMsg['content'];

export interface IAnswer {
  success: boolean;
  message?: string;
  code?: string;
  body?: unknown;
}

/** A refusal of the kernel's debugger; programs recognize it by its code. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly code?: string
  ) {
    super(message);
  }
}

/**
 * Send one of our own requests, which JupyterLab's type does not list; a refusal becomes an error, except that of
 * a pause, which `sayRefusedPauses` says.
 */
export async function ask(
  session: Pick<IDebugger.ISession, 'sendRequest'>,
  command: string,
  args: Record<string, unknown>
): Promise<IAnswer> {
  const answer = await sendUnlisted<IAnswer>(session, command, args);
  if (!answer.success && command !== 'pause') {
    throw new Refused(answer.message ?? command, answer.code);
  }
  return answer;
}

/** Send a request to a kernel's debugger, unlike a session at once: it is on its way before a cell is. */
export function sendAtOnce(
  kernel: Kernel.IKernelConnection,
  command: string,
  args: Record<string, unknown>
): void {
  const request = { type: 'request', seq: 0, command, arguments: args };
  // rejected if the kernel ends before it answers: the next one receives all breakpoints
  kernel.requestDebug(request as Request).done.catch(() => undefined);
}
