import { TranslationBundle } from '@jupyterlab/translation';

import { Cluster } from '../tokens';

/** Failures of dtrain-lab itself that were recovered, as one line; empty if there are none. */
export function recovered(
  troubles: Cluster['troubles'],
  trans: TranslationBundle
): string {
  return troubles
    .map(({ doing, kind, times }) => {
      return kind === 'restarted'
        ? trans._n(
            'Background task "%2" restarted once.',
            'Background task "%2" restarted %1 times.',
            times,
            doing
          )
        : trans._n(
            'Background task "%2" failed once.',
            'Background task "%2" failed %1 times.',
            times,
            doing
          );
    })
    .join(' ');
}
