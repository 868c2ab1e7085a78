import { DisposableDelegate, IDisposable } from '@lumino/disposable';
import { ISignal } from '@lumino/signaling';

import { clickBeside, clickIn } from '../../jupyterlab/breakpointGutter';

/** The queued uses of the debug session. */
export interface IQueue {
  /** Whether there are any. */
  readonly busy: boolean;
  readonly busyChanged: ISignal<unknown, void>;
  /** Resolves once there are none. */
  idle(): Promise<void>;
}

/**
 * Hold clicks in the gutter until no kernel is queried.
 *
 * JupyterLab ignores a click in the gutter of a notebook while the debug session is connected to another one's
 * kernel. Nothing would be said of it, and the breakpoint would be missing. Clicks are listened to only then,
 * and made again afterwards: what a click does there is decided by JupyterLab's gutter, which nothing else calls.
 *
 * @param queue - the queued uses of the debug session.
 * @returns ends it.
 */
export function holdClicks(queue: IQueue): IDisposable {
  const hold = (event: MouseEvent): void => {
    const click = clickIn(event);
    if (click) {
      event.preventDefault();
      event.stopPropagation();
      // the gutter is another element by then, or gone with the debugger
      void queue.idle().then(() => clickBeside(click, event.button));
    }
  };
  const listen = (): void => {
    if (queue.busy) {
      // before CodeMirror's own listener, which is the gutter's
      document.addEventListener('mousedown', hold, true);
    } else {
      document.removeEventListener('mousedown', hold, true);
    }
  };
  queue.busyChanged.connect(listen);
  listen();
  return new DisposableDelegate(() => {
    queue.busyChanged.disconnect(listen);
    document.removeEventListener('mousedown', hold, true);
  });
}
