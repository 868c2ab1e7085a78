import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Cluster, IPoint } from '../../tokens';
import { batchText, weakScaling, weakScalingShort } from '../../metrics/batch';
import { communicationLines } from '../../metrics/communicationLines';
import { formatTime, NBSP } from '../../metrics/format';
import {
  IShownMetrics,
  shownMetrics,
  sourceOf,
  throughputText
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
  const from = sourceOf(metrics);
  // a cell that does not train has no such metrics, and recent ones may be another cell's
  if (from === null || (from.step_s === null && metrics.current && !measured)) {
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
  // steps are timed, and nobody counts their samples: a line of other steps would not be theirs
  const uncounted = now.samples === null && now.step !== null && !hung;
  return (
    <div className="jp-DtrainCluster-metric">
      <span className="jp-DtrainCluster-name">{trans.__('Throughput')}</span>
      {uncounted ? (
        <small className="jp-DtrainCluster-whole">
          {trans.__('Unknown without a DataLoader or dt.step(samples)')}
        </small>
      ) : (
        <>
          <Value name="throughput" value={value} words={words} />
          <Sparkline
            values={points.map(p => p.samples)}
            past={past}
            label={
              past
                ? trans.__('Throughput until the end of the last training')
                : trans.__('Throughput of the last minutes')
            }
          />
        </>
      )}
      {batch && (
        <small
          className="jp-DtrainCluster-whole"
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

/** A value of now with its unit, or words alone; each takes as much height, so that nothing moves at a cell's end. */
function Value(props: {
  name: string;
  value: string;
  words: string;
}): JSX.Element {
  const { name, value, words } = props;
  return (
    <span className="jp-DtrainCluster-value">
      {value && (
        <>
          <b data-metric={name}>{value}</b>{' '}
        </>
      )}
      <small>{words}</small>
    </span>
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
  const before = current ? unit : trans.__('Last: %1', time);
  return (
    <div className="jp-DtrainCluster-metric" data-past={!current || undefined}>
      <span className="jp-DtrainCluster-name">
        {trans.__('Step')}
        {/* neither a slow rank has these parts nor one that waits for it */}
        {split && size > 1 && (
          <span>{ofWhom(size, from.step_ranks, trans)}</span>
        )}
      </span>
      <Value
        name="step"
        value={current ? step : ''}
        words={
          !split
            ? before
            : before
              ? trans.__('%1, of which', before)
              : trans.__('of which')
        }
      />
      {split && (
        <>
          <SplitBar split={split} trans={trans} />
          <SplitLegend
            split={split}
            // of the last steps it isn't kept
            dataError={current ? cluster.metrics.data_error : null}
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
  const ranks = sourceOf(cluster.metrics)?.step_ranks;
  const past = !now.current && !hung;
  return (
    <div className="jp-DtrainCluster-metric">
      <span
        className="jp-DtrainCluster-name"
        title={
          size > 1
            ? trans.__(
                'Transfer and waiting, as a share of the step: %1',
                ofWhom(size, ranks, trans)
              )
            : undefined
        }
      >
        {trans.__('Communication')}
        {/* one rank of several has no communication, whatever the others have */}
        <span>
          {ranks?.length === 1 && size > 1
            ? ofWhom(size, ranks, trans)
            : trans.__('transfer + waiting')}
        </span>
      </span>
      <Value
        name="overhead"
        value={
          now.current && now.overhead !== null
            ? shareWithoutError(now.overhead, now.atLeast ? null : now.error)
            : ''
        }
        words={communicationWords(now, cluster.metrics.measured, trans)}
      />
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
  if (overhead === null) {
    return trans.__('Unknown');
  }
  if (isVague(error)) {
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
