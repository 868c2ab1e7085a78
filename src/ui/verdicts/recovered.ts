import { TranslationBundle } from '@jupyterlab/translation';

import { Cluster } from '../../tokens';

/** What has failed by faults of ours and goes on, as a line; empty where nothing has. */
export function recovered(
  troubles: Cluster['troubles'],
  trans: TranslationBundle
): string {
  return troubles
    .map(({ doing, kind, times }) => {
      const what = doing.charAt(0).toUpperCase() + doing.slice(1);
      return kind === 'restarted'
        ? trans._n('%2 restarted once.', '%2 restarted %1 times.', times, what)
        : trans._n('%2 failed once.', '%2 failed %1 times.', times, what);
    })
    .join(' ');
}
