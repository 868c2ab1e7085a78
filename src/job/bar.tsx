import { TranslationBundle } from '@jupyterlab/translation';
import React, { useId } from 'react';

import { JobPlan } from '../tokens';
import { submitIcon } from '../ui/icons';
import { budgetWords, formatHours, moment, roomWords } from './words';

/** How large the job is and what it takes; and the button, which says why it is off. */
export function SubmitBar(props: {
  plan: JobPlan | null;
  time: string;
  /** Why it can't be submitted; empty where it can. */
  why: string;
  sending: boolean;
  kept: boolean;
  trans: TranslationBundle;
  keep: () => void;
  send: () => void;
}): JSX.Element {
  const { plan, why, sending, trans } = props;
  const id = useId();
  return (
    <div className="jp-DtrainJob-submitBar">
      <div className="jp-DtrainJob-submitSize">
        <b>
          {plan?.size
            ? trans._n(
                '%1 node × %2 = %3 ranks%4',
                '%1 nodes × %2 = %3 ranks%4',
                plan.size.nodes,
                plan.size.ranks_per_node,
                plan.size.nodes * plan.size.ranks_per_node,
                props.time ? trans.__(', at most %1', props.time) : ''
              )
            : ''}
        </b>
        {plan && <Amounts plan={plan} trans={trans} />}
      </div>
      <span className="jp-DtrainUi-under" role="status" id={id}>
        {why}
      </span>
      <div className="jp-DtrainJob-submitActs">
        <button
          type="button"
          className="jp-DtrainUi-button"
          onClick={props.keep}
        >
          {props.kept ? trans.__('Saved') : trans.__('Save for later')}
        </button>
        <button
          type="button"
          className="jp-DtrainUi-button jp-DtrainJob-send jp-mod-primary"
          aria-disabled={!!why || sending}
          aria-describedby={id}
          title={why}
          onClick={props.send}
        >
          <submitIcon.react tag="span" />
          {sending ? trans.__('Submitting…') : trans.__('Submit')}
        </button>
      </div>
    </div>
  );
}

/** Hours, room and the expected start, as far as they are known. */
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
    parts.push([roomWords(room, trans), room.folder]);
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
