import { Notification } from '@jupyterlab/apputils';
import { NotebookPanel } from '@jupyterlab/notebook';
import { Kernel } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';

import { IKernelError, isIPython, runQuietly } from './kernel';
import { tellBriefly, TOAST_MS } from '../ui/text/toast';

// not as an extension: a later %load_ext by the user would report that it is already loaded
const LOAD = "__import__('dtrain_lab').load_ipython_extension(get_ipython())";

// asked in the kernel: its answer to the browser comes after the user's first cell may have been sent
const LOAD_IF_IPYTHON = `getattr(getattr(get_ipython(), 'kernel', None), 'implementation', '') == 'ipython' and ${LOAD}`;
/** Errors of code that has not run to its end, though it may: a cell before it has failed, or was interrupted. */
const UNFINISHED = ['Aborted', 'KeyboardInterrupt'];

/**
 * Load the magics in a kernel, if it is IPython's.
 *
 * They are sent in the same turn if the kernel's language is known, so that a cell that is run while the kernel
 * starts finds them.
 *
 * @param language - of the kernel's spec; undefined if it is not known yet
 * @returns why that has failed: empty if the kernel has no dtrain-lab, else the error; null if it has not
 */
export async function loadMagics(
  kernel: Kernel.IKernelConnection,
  language: string | undefined
): Promise<string | null> {
  if (
    language === undefined ? !(await isIPython(kernel)) : !isPython(language)
  ) {
    return null;
  }
  let error = await runQuietly(kernel, LOAD_IF_IPYTHON);
  while (error && UNFINISHED.includes(error.ename) && !kernel.isDisposed) {
    error = await runQuietly(kernel, LOAD_IF_IPYTHON);
  }
  if (!error || UNFINISHED.includes(error.ename)) {
    return null;
  }
  return lacksUs(error) ? '' : `${error.ename}: ${error.evalue}`;
}

/** Whether dtrain-lab is not installed; it may lack a module of others. */
function lacksUs({ ename, evalue }: IKernelError): boolean {
  return ename === 'ModuleNotFoundError' && /'dtrain_lab'$/.test(evalue);
}

function isPython(language: string): boolean {
  return language.toLowerCase() === 'python';
}

/**
 * Load the magics again in a kernel that is being restarted, before any cell runs: *Restart Kernel and Run All Cells*
 * sends its cells as soon as the kernel is back.
 */
export async function loadAgain(
  kernel: Kernel.IKernelConnection
): Promise<void> {
  // waits until the connection has dropped what was to be sent before; what is sent then comes first
  if (!(await isIPython(kernel))) {
    return;
  }
  try {
    await runQuietly(kernel, LOAD);
  } catch (error) {
    // the kernel died, or was restarted once more
    if (!kernel.isDisposed && !isCanceled(error)) {
      throw error;
    }
  }
}

function isCanceled(error: unknown): boolean {
  return error instanceof Error && /^Canceled/.test(error.message);
}

/** Make a notebook use a cluster, and report it. */
export async function attach(
  panel: NotebookPanel,
  name: string,
  trans: TranslationBundle
): Promise<void> {
  const kernel = panel.sessionContext.session?.kernel;
  if (!kernel) {
    Notification.warning(trans.__('This notebook has no kernel.'), {
      autoClose: TOAST_MS
    });
    return;
  }
  const code = `${LOAD}\nget_ipython().run_line_magic('distributed', 'attach ${name}')`;
  const error = await runQuietly(kernel, code);
  if (error === null) {
    tellBriefly(trans.__('%1 uses %2.', panel.title.label, name));
  } else if (lacksUs(error)) {
    Notification.error(
      trans.__(
        "This notebook's kernel has no dtrain-lab. Run in a cell: %1",
        '%pip install dtrain-lab'
      ),
      { autoClose: false }
    );
  } else {
    Notification.error(error.evalue, { autoClose: false });
  }
}
