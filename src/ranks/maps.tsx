import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Cluster, IPoint } from '../tokens';
import { formatShare, formatTime } from '../metrics/format';
import { ownTimes } from '../metrics/ownTime';
import { InView } from '../ui/inView';
import { IAxis, trains } from './charts/timeAxis';
import { HeatMap, Scale } from './charts/heatMap';
import { RankMap } from './charts/rankMap';
import { IChoice } from './viewHeader';
import { heatOf, isKnown } from './model/heatMapCells';
import { rankMetricsOf, IRankMetrics } from './model/rankMetrics';
import { IPicks } from './model/picks';
import { weightOf } from './model/texts';
import { NodeGrid } from './table/nodeGrid';
import { MOST_SQUARES } from './table/rankRows';

const HEAT_COLUMNS = 100;

interface IMapsProps extends IPicks {
  cluster: Cluster;
  points: readonly IPoint[];
  axis: IAxis;
  choice: IChoice;
  /** Whether the cluster has ended. */
  over: boolean;
  rankMetrics: readonly IRankMetrics[];
  trans: TranslationBundle;
}

/** Own time, over time and currently. */
export function Maps(props: IMapsProps): JSX.Element {
  return (
    <InView
      className="jp-DtrainRanks-maps"
      draw={() => <MapSections {...props} />}
    />
  );
}

function MapSections(props: IMapsProps): JSX.Element {
  const { cluster, points, axis, choice, rankMetrics, selected, trans } = props;
  const map = props.over
    ? trans.__('At its end, by node and device')
    : axis.end === null
      ? trans.__('When last heard of, by node and device')
      : trans.__('Now, by node and device');
  const { middle } = ownTimes(cluster.ranks);
  const from = axis.until - axis.window * 1000;
  const rows =
    choice.order === 'node'
      ? rankMetrics
      : [...rankMetrics].sort(
          (a, b) =>
            weightOf(a.rank) - weightOf(b.rank) ||
            (b.over ?? -1) - (a.over ?? -1)
        );
  const slow = rankMetrics.find(f => f.rank.slow)?.rank.rank ?? null;
  const summary = slowest(rankMetricsOf(cluster), trans);
  const heat = heatOf(
    cluster,
    points,
    rows.map(f => f.rank.rank),
    HEAT_COLUMNS,
    from,
    axis.until
  );
  return (
    <>
      <section aria-label={trans.__('Own step time over time')}>
        <h3>
          {cluster.ranks.length === 2
            ? trans.__("Own step time against the other rank's")
            : middle === null
              ? trans.__('Own step time against the median of all ranks')
              : trans.__(
                  'Own step time against the median of all ranks (%1)',
                  formatTime(middle)
                )}
          {isKnown(heat) && <Scale trans={trans} />}
        </h3>
        {isKnown(heat) ? (
          <HeatMap
            heat={heat}
            end={axis.end}
            from={from / 1000}
            to={axis.until / 1000}
            selected={selected}
            marked={slow}
            markText={slow === null ? '' : trans.__('rank %1', slow)}
            summary={summary}
          />
        ) : (
          <p className="jp-DtrainUi-under">
            {points.some(trains)
              ? trans.__('Own times were too unsteady to tell in this period.')
              : axis.none}
          </p>
        )}
      </section>
      <section aria-label={map}>
        <h3>{map}</h3>
        {rankMetrics.length > MOST_SQUARES ? (
          <RankMap
            ranks={rankMetrics.map(f => f.rank)}
            middle={middle}
            columns={32}
            selected={selected}
            onSelect={props.onSelect}
            onMenu={props.onMenu}
            summary={summary}
            trans={trans}
          />
        ) : (
          <NodeGrid {...props} />
        )}
      </section>
    </>
  );
}

function slowest(
  rankMetrics: readonly IRankMetrics[],
  trans: TranslationBundle
): string {
  const measured = rankMetrics.filter(f => f.over !== null);
  if (!measured.length) {
    return trans.__('Own step time: nothing is known yet.');
  }
  const worst = measured.reduce((a, b) => (b.over! > a.over! ? b : a));
  const { rank } = worst.rank;
  const over = formatShare(worst.over);
  return rankMetrics.length === 2
    ? trans.__(
        'Own step time: rank %1 is the slowest, %2 above rank %3.',
        rank,
        over,
        1 - rank
      )
    : trans.__(
        'Own step time: rank %1 is the slowest, %2 above the median.',
        rank,
        over
      );
}
