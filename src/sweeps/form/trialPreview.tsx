import { TranslationBundle } from '@jupyterlab/translation';
import React, { useState } from 'react';

import { Highlight, Preview, PreviewState } from '../../job/preview/preview';
import { SweepPlan } from '../../tokens';

/** Preview of what one trial runs. */
export function TrialPreview(props: {
  /** Null before the first check. */
  plan: SweepPlan | null;
  state: PreviewState;
  highlight: Highlight;
  trans: TranslationBundle;
}): JSX.Element | null {
  const [tab, setTab] = useState('script');
  const { plan } = props;
  return (
    plan && (
      <Preview
        {...props}
        plan={plan}
        chosen={tab}
        choose={setTab}
        trial={props.trans.__(
          'One trial: with the first value of each list, and the lower end of each range.'
        )}
      />
    )
  );
}
