import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Cluster, IPoint } from '../tokens';
import {
  formatGiB,
  formatMegabytes,
  formatShare,
  UNKNOWN
} from '../metrics/format';
import { InView } from '../ui/inView';
import { TimeChart } from './charts/chart';
import { IAxis } from './charts/timeAxis';
import { hasNetwork } from './model/rankMetrics';
import { StepParts } from './stepParts';

/** Less frequently needed metrics: parts of a step, memory, network, and activity of nodes. */
export function MoreMetrics(props: {
  cluster: Cluster;
  points: readonly IPoint[];
  axis: IAxis;
  trans: TranslationBundle;
}): JSX.Element {
  const { cluster, trans } = props;
  return (
    <>
      <StepParts
        metrics={cluster.metrics}
        ranks={cluster.ranks}
        trans={trans}
      />
      <InView
        className="jp-DtrainUi-charts"
        draw={() => (
          <>
            <Memory {...props} />
            {hasNetwork(cluster) && <Network {...props} />}
          </>
        )}
      />
      <Nodes cluster={cluster} trans={trans} />
    </>
  );
}

interface IChartProps {
  points: readonly IPoint[];
  axis: IAxis;
  trans: TranslationBundle;
}

function Memory(props: IChartProps): JSX.Element {
  const { points, axis, trans } = props;
  const memory = points[points.length - 1]?.memory ?? null;
  return (
    <section>
      <h3>
        {trans.__('Memory')}
        <span>
          <b>{formatGiB(memory)}</b> {trans.__('GiB, maximum of all ranks')}
        </span>
      </h3>
      <TimeChart
        {...axis}
        none={trans.__('Nothing was measured in this period.')}
        series={[
          {
            label: trans.__('memory'),
            values: points.map(p =>
              p.memory === null ? null : p.memory / 2 ** 30
            ),
            colour: '--jp-success-color1'
          }
        ]}
        summary={trans.__('Memory: %1 GiB', formatGiB(memory))}
      />
    </section>
  );
}

/** Network traffic of the busiest and the median node. */
function Network(props: IChartProps): JSX.Element {
  const { points, axis, trans } = props;
  const most = points.map(p => p.network);
  const now = formatMegabytes(most[most.length - 1] ?? null);
  const mega = (value: number | null): number | null =>
    value === null ? null : value / 1e6;
  return (
    <section>
      <h3>
        {trans.__('Network')}
        <span>
          <b>{now}</b> {trans.__('MB/s, maximum of all nodes')}
        </span>
      </h3>
      <TimeChart
        {...axis}
        none={trans.__('Nothing was measured in this period.')}
        series={[
          {
            label: trans.__('the busiest node'),
            values: most.map(mega),
            colour: '--jp-brand-color1'
          },
          {
            label: trans.__('half of the nodes'),
            values: points.map(p => mega(p.networkMiddle)),
            colour: '--jp-ui-font-color2'
          }
        ]}
        summary={trans.__('Network: %1 MB/s', now)}
      />
    </section>
  );
}

/** Activity of each whole node: its cores, its network, and whether it is slowed down. */
function Nodes(props: {
  cluster: Cluster;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { cluster, trans } = props;
  const nodes = cluster.nodes.filter(n => n.cpu_utilization !== null);
  if (!nodes.length) {
    return null;
  }
  return (
    <table className="jp-DtrainRanks-nodeTable">
      <thead>
        <tr>
          <th scope="col">{trans.__('Node')}</th>
          <th scope="col">{trans.__('CPU')}</th>
          <th scope="col">{trans.__('Sent MB/s')}</th>
          <th scope="col">{trans.__('Received MB/s')}</th>
          <th scope="col">{trans.__('Slowed down')}</th>
        </tr>
      </thead>
      <InView
        as="tbody"
        draw={() =>
          nodes.map(node => (
            <tr key={node.name} data-slow={!!node.throttled || undefined}>
              <th scope="row">{node.name}</th>
              <td>{formatShare(node.cpu_utilization)}</td>
              <td>{formatMegabytes(node.sent_bytes_per_s)}</td>
              <td>{formatMegabytes(node.received_bytes_per_s)}</td>
              <td>{node.throttled || UNKNOWN}</td>
            </tr>
          ))
        }
      />
    </table>
  );
}
