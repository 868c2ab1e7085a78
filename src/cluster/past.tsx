import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Cluster, IPoint } from '../tokens';
import { Glyph } from '../ui/glyph';
import { sentence } from '../ui/sentence';
import { Figures } from './figures';

/** How a cluster stood when it was last heard of: nothing is claimed about now, and nothing can be done. */
export function PastCard(props: {
  cluster: Cluster;
  history: readonly IPoint[];
  seen: Date | null;
  trans: TranslationBundle;
}): JSX.Element {
  const { cluster, history, seen, trans } = props;
  const at = seen?.toLocaleTimeString() ?? '';
  const { code } = cluster.summary;
  const known: Record<string, string> = {
    training: trans.__('Was training at %1.', at),
    ready: trans.__('Was ready at %1.', at)
  };
  return (
    <div className="jp-DtrainCluster-card">
      <div className="jp-DtrainUi-sentence">
        <Glyph kind="idle" label={trans.__('not known')} />
        <p>
          {known[code] ?? trans.__('At %1: %2', at, sentence(cluster, trans))}
        </p>
      </div>
      {code === 'training' && (
        <p className="jp-DtrainUi-under">
          {trans._n(
            '%1 rank kept pace',
            '%1 ranks kept pace',
            cluster.world.size
          )}
        </p>
      )}
      <Figures cluster={cluster} history={history} trans={trans} />
    </div>
  );
}
