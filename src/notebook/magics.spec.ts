import { Kernel } from '@jupyterlab/services';
import { expect, it, vi } from 'vitest';

import { loadMagics } from './magics';

type Reply = { status: string; ename?: string; evalue?: string };

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
  expect(await loading).toBeNull();
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
  expect(await loadMagics(named.kernel, 'R')).toBeNull();
  const asked = kernelOf([OK], 'IRkernel');
  expect(await loadMagics(asked.kernel, undefined)).toBeNull();
  expect(named.sent).not.toHaveBeenCalled();
  expect(asked.sent).not.toHaveBeenCalled();
});

it('sends them again if a cell before them has failed, or was interrupted', async () => {
  const { kernel, sent } = kernelOf([
    { status: 'aborted' },
    { status: 'error', ename: 'KeyboardInterrupt' },
    OK
  ]);
  expect(await loadMagics(kernel, 'python')).toBeNull();
  expect(sent).toHaveBeenCalledTimes(3);
});

it('says that a kernel lacks dtrain-lab, or why it could not be loaded there', async () => {
  const failing = (ename: string, evalue: string): Promise<string | null> =>
    loadMagics(kernelOf([{ status: 'error', ename, evalue }]).kernel, 'python');
  const missing = (name: string): string => `No module named '${name}'`;
  expect(await failing('ModuleNotFoundError', missing('dtrain_lab'))).toBe('');
  // it is installed
  expect(await failing('ModuleNotFoundError', missing('msgspec'))).toBe(
    "ModuleNotFoundError: No module named 'msgspec'"
  );
  expect(await failing('ImportError', 'libz.so is missing')).toBe(
    'ImportError: libz.so is missing'
  );
});
