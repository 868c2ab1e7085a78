import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Cluster, IPoint } from '../../tokens';
import { formatClock } from '../../metrics/format';
import { Glyph } from '../../ui/icons/glyph';
import { sentence } from '../../verdicts/sentence';
import { ClusterMetrics } from './metrics';

/** Text if there was no cluster when the server last answered; whether there is one now is unknown. */
export function PastEmpty(props: {
  lastFrameAt: Date | null;
  trans: TranslationBundle;
}): JSX.Element {
  const { lastFrameAt, trans } = props;
  return (
    <p className="jp-DtrainUi-note" role="status">
      {lastFrameAt
        ? trans.__(
            'At %1 no cluster was running.',
            formatClock(lastFrameAt, true)
          )
        : trans.__('The running clusters are not known.')}
    </p>
  );
}

/** The same for jobs. */
export function PastNoJobs(props: {
  lastFrameAt: Date | null;
  trans: TranslationBundle;
}): JSX.Element {
  const { lastFrameAt, trans } = props;
  return (
    <p className="jp-DtrainUi-note">
      {lastFrameAt
        ? trans.__('At %1 there was no job.', formatClock(lastFrameAt, true))
        : trans.__('The jobs are not known.')}
    </p>
  );
}

/** Last known state of a cluster, without actions, and without any claim about now. */
export function PastCard(props: {
  cluster: Cluster;
  history: readonly IPoint[];
  lastFrameAt: Date | null;
  trans: TranslationBundle;
}): JSX.Element {
  const { cluster, history, lastFrameAt, trans } = props;
  const at = lastFrameAt ? formatClock(lastFrameAt, true) : '';
  const { code } = cluster.summary;
  const texts: Record<string, string> = {
    training: trans.__('Was training at %1.', at),
    training_begun: trans.__('Was training at %1.', at),
    ready: trans.__('Was ready at %1.', at)
  };
  return (
    <div className="jp-DtrainCluster-card">
      <div className="jp-DtrainUi-sentence">
        <Glyph kind="off" label={trans.__('not known')} />
        <p>
          {texts[code] ?? trans.__('At %1: %2', at, sentence(cluster, trans))}
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
      <ClusterMetrics cluster={cluster} history={history} trans={trans} />
    </div>
  );
}
