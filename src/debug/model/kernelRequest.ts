import { IDebugger } from '@jupyterlab/debugger';

import { sendUnlisted } from '../../jupyterlab/debuggerSession';

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
