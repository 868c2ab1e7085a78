import { TranslationBundle } from '@jupyterlab/translation';
import React, { useId } from 'react';

import { JobPlan } from '../tokens';
import { sweepIcon } from '../ui/views';
import { ISweepForm, trialsOf } from './request';

/** How many trials there will be, and how large; and the button, which says why it is off. */
export function SweepBar(props: {
  sweep: ISweepForm;
  size: JobPlan['size'];
  /** Why it can't begin; empty where it can. */
  why: string;
  sending: boolean;
  trans: TranslationBundle;
  send: () => void;
}): JSX.Element {
  const { sweep, size, why, sending, trans } = props;
  const id = useId();
  const trials = trialsOf(sweep);
  const ranks = size ? size.nodes * size.ranks_per_node : 1;
  const parallel = Number(sweep.parallel);
  return (
    <div className="jp-DtrainJob-submitBar">
      <div className="jp-DtrainJob-submitSize">
        <b>
          {trans._n('%1 trial', '%1 trials', trials)}
          {trans._n(' × %1 rank', ' × %1 ranks', ranks)}
        </b>
        <p className="jp-DtrainUi-under">
          {parallel
            ? trans.__('%1 at once', Math.min(parallel, trials))
            : trans.__('As many at once as GPUs, or cores, have room for')}
        </p>
      </div>
      <span className="jp-DtrainUi-under" role="status" id={id}>
        {why}
      </span>
      <div className="jp-DtrainJob-submitActs">
        <button
          type="button"
          className="jp-DtrainUi-button jp-DtrainJob-send jp-DtrainSweep-begin jp-mod-primary"
          aria-disabled={!!why || sending}
          aria-describedby={id}
          title={why}
          onClick={props.send}
        >
          <sweepIcon.react tag="span" />
          {sending ? trans.__('Beginning…') : trans.__('Begin sweep')}
        </button>
      </div>
    </div>
  );
}
