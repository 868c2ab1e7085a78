import React from 'react';

import { FormBar, ISaving, SaveForLater } from '../../job/form/formBar';
import { SweepPlan } from '../../tokens';
import { ranksText } from '../../verdicts/sentence';
import { sweepIcon } from '../../ui/icons/viewIcons';
import { isCount, ISweepForm, trialsOf, varies } from '../model/formRequest';

/** Number and size of the trials, and the button, which says why it is disabled. */
export function SweepBar(
  props: ISaving & {
    sweep: ISweepForm;
    /** The checked plan; null if there is none. */
    plan: SweepPlan | null;
    /** Whether a field is invalid: the plan is then of the others. */
    partial: boolean;
    /** Why it can't begin; empty if it can. */
    why: string;
    sending: boolean;
    send: () => void;
  }
): JSX.Element {
  const { sweep, plan, partial, trans } = props;
  const some = varies(sweep);
  const trials = trialsOf(sweep);
  // an invalid number is not repeated here: its field says what is wrong
  const counts = isCount(sweep.trials);
  const all = !counts
    ? trans.__('No valid number of trials')
    : some
      ? trans._n('%1 trial', '%1 trials', trials)
      : trans.__('No trial yet');
  const size = counts && some ? plan?.size : null;
  const asked = isCount(sweep.parallel);
  const parallel =
    (asked && Number(sweep.parallel)) || (partial ? null : plan?.parallel);
  return (
    <FormBar
      {...props}
      size={
        size
          ? trans.__(
              '%1 × %2',
              all,
              ranksText(size.nodes * size.ranks_per_node, trans)
            )
          : all
      }
      under={
        <p className="jp-DtrainUi-under">
          {!some
            ? ''
            : parallel
              ? trans.__('%1 at once', Math.min(parallel, trials))
              : !asked
                ? ''
                : trans.__('As many at once as there are free GPUs or cores')}
        </p>
      }
      icon={sweepIcon}
      words={[trans.__('Start sweep'), trans.__('Starting…')]}
      extra="jp-DtrainSweep-begin"
    >
      <SaveForLater {...props} />
    </FormBar>
  );
}
