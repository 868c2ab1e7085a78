import { Kernel, KernelMessage } from '@jupyterlab/services';

/** An error of code in a kernel. */
export interface IKernelError {
  ename: string;
  evalue: string;
}

/** Whether this kernel has magics. */
export async function isIPython(
  kernel: Kernel.IKernelConnection
): Promise<boolean> {
  const info = await kernel.info;
  return info.implementation === 'ipython';
}

/**
 * Run code without a trace in the notebook: no number, no history, no output.
 *
 * @returns the error, or null
 */
export async function runQuietly(
  kernel: Kernel.IKernelConnection,
  code: string
): Promise<IKernelError | null> {
  const future = kernel.requestExecute({
    code,
    silent: true,
    store_history: false,
    stop_on_error: false
  });
  let shown: IKernelError | null = null;
  future.onIOPub = message => {
    if (KernelMessage.isErrorMsg(message)) {
      shown = message.content;
    }
  };
  const reply = await future.done;
  if (reply.content.status === 'ok') {
    return null;
  }
  if (reply.content.status === 'error') {
    return reply.content;
  }
  return shown ?? { ename: 'Aborted', evalue: 'The kernel is busy.' };
}

// identifiers contain no quotes and backslashes, so their repr is JSON; letters of any alphabet are unchanged
const NAMES =
  "[n for n in get_ipython().user_ns if not n.startswith('_') and n.isidentifier()]";

/** Names defined in a kernel; null if it can't tell. */
export async function namesIn(
  kernel: Kernel.IKernelConnection
): Promise<string[] | null> {
  if (!(await isIPython(kernel))) {
    return null;
  }
  const future = kernel.requestExecute({
    code: '',
    silent: true,
    store_history: false,
    user_expressions: {
      names: `__import__('json').dumps(${NAMES}, ensure_ascii=False)`
    }
  });
  const { content } = await future.done;
  if (content.status !== 'ok') {
    return null;
  }
  const reply = content.user_expressions?.names as
    { status: string; data?: Record<string, string> } | undefined;
  const text = reply?.data?.['text/plain'];
  // a repr of JSON: a quoted text
  return text ? (JSON.parse(text.slice(1, -1)) as string[]) : null;
}
