import { TranslationBundle } from '@jupyterlab/translation';

import { CommandIDs } from '../../commands';
import {
  Advice,
  Cluster,
  IAdviceState,
  IClusterActions,
  IKernelRecords
} from '../../tokens';
import { adviceOf } from '../../advice/order';
import { Add } from './clusterCommand';
import { showChange } from './showChange';
import { tellBriefly } from '../../ui/text/toast';

const ADVICE_ARGS = {
  advice: {
    type: 'string',
    description: 'Id of the advice; if missing, the best one is used'
  }
};

/** Commands for advice: show its change, or try it. */
export function addAdviceCommands(
  add: Add,
  state: IAdviceState,
  actions: IClusterActions,
  names: Pick<IKernelRecords, 'notebookName'>,
  trans: TranslationBundle
): void {
  const best = (cluster: Cluster): Advice | null =>
    adviceOf(cluster.metrics, id => state.isDismissed(cluster.id, id));
  const tellNone = (cluster: Cluster): void => {
    tellBriefly(
      trans.__('There is no advice for %1 now.', cluster.name),
      'info'
    );
  };

  add(CommandIDs.showChange, {
    label: trans.__('Show the Suggested Change'),
    caption: trans.__('Show what advice would change in your code'),
    args: ADVICE_ARGS,
    execute: async (cluster, args) => {
      const advice = args.advice
        ? cluster.metrics.advice.find(each => each.id === args.advice)
        : best(cluster);
      if (advice) {
        const kept = state.isKept(cluster.id, advice.diff);
        await showChange(advice, kept, names, trans);
      } else {
        tellNone(cluster);
      }
    }
  });
  add(CommandIDs.tryAdvice, {
    label: trans.__('Try the Suggested Change'),
    caption: trans.__('Measure what advice would gain'),
    may: 'stacks',
    args: ADVICE_ARGS,
    execute: async (cluster, args) => {
      // the head also knows advice whose card is gone
      const advice = args.advice ? String(args.advice) : best(cluster)?.id;
      if (advice) {
        if (!args.advice) {
          state.setTried(cluster.id, { advice, at: 0 }); // the best one is on top
        }
        state.setTrying(cluster.id, advice, true);
        try {
          await actions.tryAdvice(cluster.id, advice);
        } finally {
          state.setTrying(cluster.id, advice, false);
        }
      } else {
        tellNone(cluster);
      }
    }
  });
}
