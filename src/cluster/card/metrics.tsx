import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Cluster, IPoint } from '../../tokens';
import { batchText, weakScaling, weakScalingShort } from '../../metrics/batch';
import { communicationLines } from '../../metrics/communicationLines';
import { formatTime, NBSP, UNKNOWN } from '../../metrics/format';
import {
  IShownMetrics,
  shownMetrics,
  sourceOf,
  throughputText,
  together
} from '../../metrics/currentMetrics';
import { curvePoints } from '../../metrics/curve';
import {
  errorOfParts,
  isVague,
  lastShare,
  plusMinus,
  shareWithoutError,
  vagueText
} from '../../metrics/share';
import { Sparkline } from '../../ui/charts/sparkline';
import { isSplitVague, ofWhom, shownSplit } from '../../metrics/split';
import { SplitBar, SplitLegend } from '../../ui/charts/splitBar';
import { alarmOf } from '../../verdicts/verdict';

/** What the three metrics of a cluster are drawn of. */
interface IMetricsProps {
  cluster: Cluster;
  /** Points of the curves. */
  points: readonly IPoint[];
  now: IShownMetrics;
  /** Whether ranks hang. */
  hung: boolean;
  trans: TranslationBundle;
}

/** Throughput, step and communication: those of the last training while none runs, and marked as such. */
export function ClusterMetrics(props: {
  cluster: Cluster;
  history: readonly IPoint[];
  trans: TranslationBundle;
}): JSX.Element | null {
  const { cluster, history, trans } = props;
  const { metrics } = cluster;
  const points = curvePoints(history, metrics.current);
  const measured = points.some(p => p.samples !== null || p.overhead !== null);
  const hung = alarmOf(metrics) !== null;
  // if the stopped cell has not trained, recent metrics are another cell's
  if ((!measured || hung) && metrics.step_s === null && metrics.last === null) {
    return null;
  }
  const shown = { cluster, points, now: shownMetrics(metrics), hung, trans };
  return (
    <div className="jp-DtrainCluster-metrics">
      <Throughput {...shown} />
      <Step {...shown} />
      <Communication {...shown} />
    </div>
  );
}

function Throughput(props: IMetricsProps): JSX.Element {
  const { cluster, points, now, hung, trans } = props;
  const batch = batchText(cluster, trans);
  const grown = weakScalingShort(cluster, trans);
  const { value, words } = throughputText(now, hung, trans);
  const past = !now.current && !hung;
  return (
    <div className="jp-DtrainCluster-metric">
      <span className="jp-DtrainCluster-name">{trans.__('Throughput')}</span>
      <span>
        <b data-metric="throughput">{value}</b>{' '}
        <small>
          {now.samples === null && !hung
            ? trans.__(
                '%1: unknown without a DataLoader or dt.step(samples)',
                words
              )
            : words}
        </small>
      </span>
      <Sparkline
        values={points.map(p => p.samples)}
        past={past}
        label={
          past
            ? trans.__('Throughput until the end of the last training')
            : trans.__('Throughput of the last minutes')
        }
      />
      {batch && (
        <small
          className="jp-DtrainCluster-batch"
          data-metric="batch"
          title={weakScaling(cluster, trans) ?? undefined}
        >
          {batch}
        </small>
      )}
      {grown && (
        <details className="jp-DtrainCluster-grown">
          <summary>{grown.short}</summary>
          <p>{grown.text}</p>
        </details>
      )}
    </div>
  );
}

/** A step and its parts; nothing while ranks hang. */
function Step(props: IMetricsProps): JSX.Element | null {
  const { cluster, now, hung, trans } = props;
  const { size } = cluster.world;
  const { current } = now;
  const from = sourceOf(cluster.metrics);
  // the last parts of a step are not known from a head of an earlier version
  const known = from !== null && (current || from.compute_s !== null);
  const split = known ? shownSplit(from) : null;
  if (!known || (hung && !current) || !(split || isSplitVague(from))) {
    return null;
  }
  const time = formatTime(from.step_s);
  const [step, ...units] = time.split(NBSP);
  const unit = units.join(NBSP);
  const before = current ? unit : together(trans.__('last: %1', time));
  return (
    <div className="jp-DtrainCluster-metric" data-past={!current || undefined}>
      <span className="jp-DtrainCluster-name">
        {trans.__('Step')}
        {/* neither a slow rank has these parts nor one that waits for it */}
        {split && size > 1 && <span>{ofWhom(size, trans)}</span>}
      </span>
      <span>
        <b data-metric="step">{current ? step : UNKNOWN}</b>{' '}
        <small>
          {!split
            ? before
            : before
              ? trans.__('%1, of which', before)
              : trans.__('of which')}
        </small>
      </span>
      {split && (
        <>
          <SplitBar split={split} trans={trans} />
          <SplitLegend
            split={split}
            error={errorOfParts(
              now.overhead,
              now.atLeast ? null : now.error,
              trans
            )}
            trans={trans}
          />
        </>
      )}
    </div>
  );
}

function Communication(props: IMetricsProps): JSX.Element {
  const { cluster, points, now, hung, trans } = props;
  const { size } = cluster.world;
  const past = !now.current && !hung;
  return (
    <div className="jp-DtrainCluster-metric">
      <span
        className="jp-DtrainCluster-name"
        title={
          size > 1
            ? trans.__(
                'Transfer and waiting, as a share of the step: %1',
                ofWhom(size, trans)
              )
            : undefined
        }
      >
        {trans.__('Communication')}
        <span>{trans.__('transfer + waiting')}</span>
      </span>
      <span>
        <b data-metric="overhead">
          {now.current
            ? shareWithoutError(now.overhead, now.atLeast ? null : now.error)
            : UNKNOWN}
        </b>{' '}
        <small>
          {communicationWords(now, cluster.metrics.measured, trans)}
        </small>
      </span>
      <Sparkline
        values={communicationLines(points, now.atLeast).estimate}
        past={past}
        label={
          past
            ? trans.__('Communication until the end of the last training')
            : trans.__('Communication of the last minutes')
        }
      />
    </div>
  );
}

/** Text after the share of communication: its reference, its error, and whether it is of the last run. */
function communicationWords(
  now: IShownMetrics,
  measured: boolean,
  trans: TranslationBundle
): string {
  const { current, overhead, error, atLeast } = now;
  const last = lastShare(now, measured, trans);
  if (last !== null) {
    return last;
  }
  if (overhead !== null && isVague(error)) {
    return vagueText(trans);
  }
  if (current && atLeast) {
    return trans.__('of the step, or more');
  }
  if (!error) {
    return trans.__('of the step');
  }
  const off = plusMinus(overhead, error);
  if (!off) {
    return measured
      ? trans.__('of the step, measured')
      : trans.__('of the step, estimated');
  }
  return measured
    ? trans.__('%1 of the step, measured', off)
    : trans.__('%1 of the step, estimated', off);
}
