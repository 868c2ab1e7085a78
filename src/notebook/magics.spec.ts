import { Kernel } from '@jupyterlab/services';
import { expect, it, vi } from 'vitest';

import { loadMagics } from './magics';

type Reply = { status: string; ename?: string };

/** A kernel that answers with these replies, one after another. */
function kernelOf(
  replies: Reply[],
  implementation = 'ipython'
): {
  kernel: Kernel.IKernelConnection;
  sent: ReturnType<typeof vi.fn>;
} {
  const left = [...replies];
  const sent = vi.fn(() => ({
    done: Promise.resolve({ content: left.shift() })
  }));
  const kernel = {
    isDisposed: false,
    info: Promise.resolve({ implementation }),
    requestExecute: sent
  } as unknown as Kernel.IKernelConnection;
  return { kernel, sent };
}

const OK = { status: 'ok' };

it('sends them before a cell that is run in the same moment, without waiting for the kernel', async () => {
  const { kernel, sent } = kernelOf([OK]);
  const loading = loadMagics(kernel, 'python');
  expect(sent).toHaveBeenCalledOnce();
  expect(await loading).toBe(true);
});

it('asks a kernel of unknown language what it is', async () => {
  const { kernel, sent } = kernelOf([OK]);
  const loading = loadMagics(kernel, undefined);
  expect(sent).not.toHaveBeenCalled();
  await loading;
  expect(sent).toHaveBeenCalledOnce();
});

it('sends nothing to a kernel of another language', async () => {
  const named = kernelOf([OK]);
  expect(await loadMagics(named.kernel, 'R')).toBe(true);
  const asked = kernelOf([OK], 'IRkernel');
  expect(await loadMagics(asked.kernel, undefined)).toBe(true);
  expect(named.sent).not.toHaveBeenCalled();
  expect(asked.sent).not.toHaveBeenCalled();
});

it('sends them again if a cell before them has failed, or was interrupted', async () => {
  const { kernel, sent } = kernelOf([
    { status: 'aborted' },
    { status: 'error', ename: 'KeyboardInterrupt' },
    OK
  ]);
  expect(await loadMagics(kernel, 'python')).toBe(true);
  expect(sent).toHaveBeenCalledTimes(3);
});

it('says that a kernel lacks dtrain-lab', async () => {
  const { kernel, sent } = kernelOf([
    { status: 'error', ename: 'ModuleNotFoundError' }
  ]);
  expect(await loadMagics(kernel, 'python')).toBe(false);
  expect(sent).toHaveBeenCalledOnce();
});
