import React from 'react';

import { ENDING } from '../api/states';
import { ClusterHead } from '../cluster/card/card';
import { CommandIDs } from '../commands';
import { formatClock } from '../metrics/format';
import { Cluster } from '../tokens';
import { sentence } from '../verdicts/sentence';
import { IViewProps } from './viewProps';

/** The state of a cluster; of one that can't be asked any more, the time of what is shown. */
export function StateHead(
  props: IViewProps & {
    /** As last heard of. */
    cluster: Cluster;
    /** Null if it can't be asked. */
    live: Cluster | null;
    /** Time of `cluster`, ms. */
    at: number;
  }
): JSX.Element {
  const { at, cluster, live, model, trans } = props;
  const cut = model.link === 'lost';
  const over = !live && !cut;
  // a head that is gone has not said how it ended
  const past = cut || (over && !ENDING.includes(cluster.state));
  const ended = over ? (props.ending.current?.cluster ?? null) : null;
  const time = formatClock(at, true);
  return (
    <>
      {!live && (
        <p className="jp-DtrainUi-note" role="status">
          {cut
            ? trans.__(
                'No connection to the server. These values are from %1.',
                time
              )
            : trans.__(
                'Cluster %1 has ended. These values are from %2.',
                props.name,
                time
              )}
        </p>
      )}
      {ended ? (
        <EndedHead {...props} cluster={ended} />
      ) : (
        <ClusterHead
          {...props}
          ignored={model.ignored(cluster.id)}
          profiles={props.site.profiles}
          cluster={live ?? { ...cluster, may: [] }}
          now={past ? at : model.at}
          past={past}
          cut={cut}
        />
      )}
      {ended && past && (
        <p className="jp-DtrainUi-under">
          {trans.__('At %1: %2', time, sentence(cluster, trans))}
        </p>
      )}
    </>
  );
}

/** What is known of a cluster that had ended before this page could show its ranks. */
export function Ended(props: IViewProps): JSX.Element | null {
  const { name, trans } = props;
  const ending = props.ending.current;
  // the server has not answered yet
  return ending ? (
    <>
      <p className="jp-DtrainUi-note" role="status">
        {ending.cluster || ending.at === null
          ? trans.__('Cluster %1 has ended.', name)
          : trans.__(
              'Cluster %1 ended at %2.',
              name,
              formatClock(ending.at)
            )}{' '}
        {trans.__(
          'The values of its ranks are not kept when the page reloads.'
        )}
      </p>
      {ending.cluster && <EndedHead {...props} cluster={ending.cluster} />}
    </>
  ) : null;
}

/** How a cluster has ended, as in the panel; its tab is closed as any other. */
function EndedHead(props: IViewProps & { cluster: Cluster }): JSX.Element {
  const { cluster, model } = props;
  const isTaken = model.clusters.some(({ name }) => name === cluster.name);
  return (
    <ClusterHead
      {...props}
      ignored={null}
      profiles={props.site.profiles}
      now={model.at}
      omits={[
        CommandIDs.stopCluster,
        ...(isTaken ? [CommandIDs.startCluster] : [])
      ]}
    />
  );
}
