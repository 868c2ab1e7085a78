import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Sweep } from '../../tokens';
import { formatShare } from '../../metrics/format';

/** Why the importance is unknown. */
function missingText(sweep: Sweep, trans: TranslationBundle): string {
  const missing = sweep.importance?.missing;
  switch (missing?.code) {
    case 'no_parameter':
      return trans.__('No parameter varies.');
    case 'one_parameter':
      return trans.__(
        'Only one parameter varies, so there is nothing to compare.'
      );
    case 'few_trials':
      if (sweep.ended_at !== null) {
        return trans._n(
          'Importance needs %2 trials that are done; the sweep has ended with %1.',
          'Importance needs %2 trials that are done; the sweep has ended with %1.',
          Number(missing.values.done),
          Number(missing.values.least)
        );
      }
      return trans._n(
        'Importance needs %2 trials that are done; %1 is done.',
        'Importance needs %2 trials that are done; %1 are done.',
        Number(missing.values.done),
        Number(missing.values.least)
      );
    case 'all_alike':
      return trans.__(
        'All trials have the same value, so no parameter stands out.'
      );
    case 'best_alike':
      return trans.__(
        'The best trials have the same parameters as the others, so no parameter stands out.'
      );
    default:
      return missing?.text ?? trans.__('Reading…');
  }
}

/** Importance of each parameter for the objective: a bar and a number each, the largest first. */
export function Importance(props: {
  sweep: Sweep;
  trans: TranslationBundle;
}): JSX.Element {
  const { sweep, trans } = props;
  const shares = Object.entries(sweep.importance?.shares ?? {});
  return (
    <section className="jp-DtrainSweep-importance">
      <h3>{trans.__('Importance for %1', sweep.objective)}</h3>
      {shares.length ? (
        <>
          <ul className="jp-DtrainSweep-shares">
            {shares.map(([name, share]) => (
              <li key={name}>
                <span>{name}</span>
                <span className="jp-DtrainSweep-share" aria-hidden="true">
                  <span style={{ width: `${100 * share}%` }} />
                </span>
                <b>{formatShare(share)}</b>
              </li>
            ))}
          </ul>
          <p className="jp-DtrainSweep-legend">
            {trans.__(
              'How clearly each parameter separates the best trials from the rest. More trials make it more certain.'
            )}
          </p>
        </>
      ) : (
        <p className="jp-DtrainUi-under">{missingText(sweep, trans)}</p>
      )}
    </section>
  );
}
