import { DebuggerSession } from './debuggerSession';

/**
 * Say why the kernel refuses a pause, such as one while no cell runs.
 *
 * JupyterLab's *Pause* is always enabled, and drops the answer.
 */
export function sayRefusedPauses(
  requests: Pick<DebuggerSession, 'around'>,
  say: (why: string) => void
): void {
  requests.around('pause', async (send, command, args) => {
    const answer = await send(command, args);
    const { success, message } = (answer ?? {}) as {
      success?: boolean;
      message?: string;
    };
    if (command === 'pause' && success === false && message) {
      say(message);
    }
    return answer;
  });
}
