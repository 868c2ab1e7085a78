import { Notification } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { CommandIDs } from '../../commands';
import { Advice, Cluster, IAdviceState, IClusterActions } from '../../tokens';
import { TOAST_MS } from '../../ui/actionButton';
import { adviceOf } from '../../advice/order';
import { showChange } from './showChange';

/** Arguments of a command. */
export type Args = ReadonlyPartialJSONObject;

/**
 * Adds a command for a cluster; `may` is the required permission, `when` whether there is anything to do, which is true
 * by default.
 */
export type Add = (
  id: string,
  label: string,
  may: string | null,
  execute: (cluster: Cluster, args: Args) => Promise<void> | void,
  when?: (cluster: Cluster) => boolean
) => void;

/** Commands for advice: show its change, or try it. */
export function addAdviceCommands(
  add: Add,
  state: IAdviceState,
  actions: IClusterActions,
  trans: TranslationBundle
): void {
  const best = (cluster: Cluster): Advice | null =>
    adviceOf(cluster.metrics, id => state.isDismissed(cluster.id, id));
  const tellNone = (cluster: Cluster): void => {
    Notification.info(
      trans.__('There is no advice for %1 now.', cluster.name),
      { autoClose: TOAST_MS }
    );
  };

  add(
    CommandIDs.showChange,
    trans.__('Show the Suggested Change'),
    null,
    async (cluster, args) => {
      const advice = args.advice
        ? cluster.metrics.advice.find(each => each.id === args.advice)
        : best(cluster);
      if (advice) {
        const kept = state.isKept(cluster.id, advice.diff);
        await showChange(advice, kept, trans);
      } else {
        tellNone(cluster);
      }
    }
  );
  add(
    CommandIDs.tryAdvice,
    trans.__('Try the Suggested Change'),
    null,
    async (cluster, args) => {
      // the head also knows advice whose card is gone
      const advice = args.advice ? String(args.advice) : best(cluster)?.id;
      if (advice) {
        await actions.tryAdvice(cluster.id, advice);
      } else {
        tellNone(cluster);
      }
    }
  );
}
