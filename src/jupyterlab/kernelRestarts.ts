import { Kernel } from '@jupyterlab/services';

/**
 * A listener to a kernel's status that hears of each restart once.
 *
 * JupyterLab reports the death of a kernel, which the server restarts, first as `restarting`, like a restart that
 * somebody asks for, and then as `autorestarting`: in a microtask that it has queued before it reports the first.
 *
 * @param heard - told whether the kernel has died; else somebody restarts it, which interrupts it before.
 */
export function onRestart(
  heard: (died: boolean) => void
): (sender: unknown, status: Kernel.Status) => void {
  let isHeld = false;
  let died = false;
  return (_, status) => {
    if (status === 'autorestarting') {
      died = true;
    }
    if (status === 'restarting' && !isHeld) {
      isHeld = true;
      died = false;
      queueMicrotask(() => {
        isHeld = false;
        heard(died);
      });
    }
  };
}
