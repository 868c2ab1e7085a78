import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { JobPlan } from '../../tokens';
import { submitIcon } from '../../ui/icons/icons';
import { FormBar, ISaving, SaveForLater } from './formBar';
import { budgetWords, formatHours, freeSpaceText } from '../model/amounts';
import { moment } from '../model/texts';

/** Size and resources of the job, and the submit button, which says why it is disabled. */
export function SubmitBar(
  props: ISaving & {
    plan: JobPlan | null;
    time: string;
    /** Why it can't be submitted; empty if it can. */
    why: string;
    sending: boolean;
    send: () => void;
  }
): JSX.Element {
  const { plan, trans } = props;
  const size =
    plan?.size &&
    trans._n(
      '%3 × %2 = %1 rank',
      '%3 × %2 = %1 ranks',
      plan.size.nodes * plan.size.ranks_per_node,
      plan.size.ranks_per_node,
      trans._n('%1 node', '%1 nodes', plan.size.nodes)
    );
  return (
    <FormBar
      {...props}
      size={
        size && props.time
          ? trans.__('%1, at most %2', size, props.time)
          : size || ''
      }
      under={plan && <Amounts plan={plan} trans={trans} />}
      icon={submitIcon}
      words={[trans.__('Submit'), trans.__('Submitting…')]}
    >
      <SaveForLater {...props} />
    </FormBar>
  );
}

/** Hours, disk space and the expected start, as far as known. */
function Amounts(props: {
  plan: JobPlan;
  trans: TranslationBundle;
}): JSX.Element {
  const { plan, trans } = props;
  const { budget, gpu_hours: hours, room, expected_start_at: start } = plan;
  const parts: [string, string][] = [];
  if (budget) {
    parts.push([budgetWords(budget, trans), budget.holder]);
  } else if (hours) {
    parts.push([trans.__('At most %1 GPU-hours', formatHours(hours)), '']);
  }
  if (room) {
    parts.push([freeSpaceText(room, trans), room.folder]);
  }
  if (start) {
    parts.push([trans.__('Would start at about %1', moment(start)), '']);
  }
  return (
    <p className="jp-DtrainUi-under">
      {parts
        .filter(([text]) => text)
        .map(([text, title], index) => (
          <span key={text} title={title || undefined}>
            {index ? ' · ' : ''}
            {text}
          </span>
        ))}
    </p>
  );
}
