import { TranslationBundle } from '@jupyterlab/translation';
import React, { useState } from 'react';

import { Highlight, Preview } from '../../job/preview/preview';
import { SweepPlan } from '../../tokens';

/** Preview of what one trial runs. */
export function TrialPreview(props: {
  /** Null before the first check. */
  plan: SweepPlan | null;
  /** Whether the form has changed since, and can't be sent. */
  stale: boolean;
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
