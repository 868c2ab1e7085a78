import { TranslationBundle } from '@jupyterlab/translation';

import { DebugModel } from './model';
import { hasEnded } from './texts';

type ObservedModel = Pick<DebugModel, 'view' | 'changed'>;

/**
 * Wait until the ranks are being debugged; an error if that takes more than half a minute: the kernel's reason, such
 * as another client that debugs them, if it gave one.
 *
 * @param isOn - whether they are.
 */
export function untilOn(
  model: ObservedModel,
  trans: TranslationBundle,
  isOn = (): boolean => !!model.view?.on
): Promise<void> {
  return until(
    model,
    isOn,
    () => null,
    () => model.view?.notes?.[0] ?? trans.__('The debugger did not start.')
  );
}

/** Wait until a rank has stopped where the last cell failed; an error if none does so in time, or can. */
export function untilPaused(
  model: ObservedModel,
  trans: TranslationBundle
): Promise<void> {
  return until(
    model,
    () => !!model.view?.ranks.some(r => r.phase === 'paused'),
    () =>
      !model.view?.on
        ? trans.__('The debugger is off.')
        : hasEnded(model.view)
          ? trans.__('The cluster has ended.')
          : null,
    () => trans.__('No rank has stopped where the cell failed.')
  );
}

/**
 * Waits for a state of the ranks, as reported by the kernel.
 *
 * @param never - why the state can't be reached any more; null while it can
 * @param late - the error if the state is not reached in time
 */
function until(
  model: ObservedModel,
  holds: () => boolean,
  never: () => string | null,
  late: () => string
): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (error: string | null): void => {
      window.clearTimeout(timer);
      model.changed.disconnect(look);
      if (error === null) {
        resolve();
      } else {
        reject(new Error(error));
      }
    };
    const look = (): void => {
      const why = holds() ? null : never();
      if (holds() || why !== null) {
        end(why);
      }
    };
    const timer = window.setTimeout(() => end(late()), WITHIN);
    model.changed.connect(look);
    look();
  });
}

/** Ms; pydevd takes a second to start in each rank. */
const WITHIN = 30_000;
