import { Notification } from '@jupyterlab/apputils';
import { NotebookPanel } from '@jupyterlab/notebook';
import { Kernel } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';

import { TOAST_MS } from '../ui/actionButton';
import { isIPython, runQuietly } from './kernel';

// not as an extension: a later %load_ext by the user would report that it is already loaded
const LOAD = "__import__('dtrain_lab').load_ipython_extension(get_ipython())";

/** Load the magics in a kernel; false if the kernel has no dtrain-lab. */
export async function loadMagics(
  kernel: Kernel.IKernelConnection
): Promise<boolean> {
  if (!(await isIPython(kernel))) {
    return true;
  }
  const error = await runQuietly(kernel, LOAD);
  return error?.ename !== 'ModuleNotFoundError';
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
    Notification.success(trans.__('%1 uses %2.', panel.title.label, name), {
      autoClose: 4000
    });
  } else if (error.ename === 'ModuleNotFoundError') {
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
