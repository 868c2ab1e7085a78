import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Cluster, IPoint } from '../../tokens';
import { batchText, weakScaling, weakScalingShort } from '../../metrics/batch';
import { communicationLines } from '../../metrics/communicationLines';
import {
  formatRate,
  formatTime,
  NBSP,
  unbroken,
  UNKNOWN
} from '../../metrics/format';
import { IShownMetrics, shownMetrics } from '../../metrics/currentMetrics';
import {
  errorOfParts,
  isVague,
  lastShare,
  plusMinus,
  shareWithoutError,
  vagueText
} from '../../metrics/share';
import { SPARK, Sparkline } from '../../ui/charts/sparkline';
import { splitOf } from '../../metrics/split';
import { SplitBar, SplitLegend } from '../../ui/charts/splitBar';
import { alarmOf } from '../../verdicts/verdict';

/** Throughput, step and communication. */
export function ClusterMetrics(props: {
  cluster: Cluster;
  history: readonly IPoint[];
  trans: TranslationBundle;
}): JSX.Element | null {
  const { cluster, history, trans } = props;
  const { metrics } = cluster;
  const split = splitOf(metrics);
  const recent = history.slice(-SPARK);
  const measured = recent.some(p => p.samples !== null || p.overhead !== null);
  const hung = alarmOf(metrics) !== null;
  // if the stopped cell has not trained, recent metrics are another cell's
  if ((!measured || hung) && metrics.step_s === null && metrics.last === null) {
    return null;
  }
  const now = shownMetrics(metrics);
  const { error } = now;
  const batch = batchText(cluster, trans);
  const grown = weakScalingShort(cluster, trans);
  const [step, ...units] = formatTime(metrics.step_s).split(NBSP);
  const unit = units.join(NBSP);
  return (
    <div className="jp-DtrainCluster-metrics">
      <div className="jp-DtrainCluster-metric">
        <span className="jp-DtrainCluster-name">{trans.__('Throughput')}</span>
        <span>
          <b data-metric="throughput">
            {now.current ? formatRate(now.samples) : hung ? '0' : UNKNOWN}
          </b>{' '}
          <small>
            {now.current || now.samples === null
              ? trans.__('samples/s')
              : hung
                ? unbroken(
                    trans.__('was %1 samples/s', formatRate(now.samples))
                  )
                : together(
                    trans.__('last: %1 samples/s', formatRate(now.samples))
                  )}
          </small>
        </span>
        <Sparkline
          values={recent.map(p => p.samples)}
          label={trans.__('Throughput of the last minutes')}
        />
        {batch && (
          <small
            className="jp-DtrainCluster-batch"
            data-metric="batch"
            title={weakScaling(cluster, trans) ?? undefined}
          >
            {batch}
            {grown && <span>{grown}</span>}
          </small>
        )}
      </div>
      {split && now.current && (
        <div className="jp-DtrainCluster-metric">
          <span className="jp-DtrainCluster-name">{trans.__('Step')}</span>
          <span>
            <b>{step}</b>{' '}
            <small>
              {isVague(error)
                ? unit
                : unit
                  ? trans.__('%1, of which', unit)
                  : trans.__('of which')}
            </small>
          </span>
          {/* its parts are as uncertain as communication */}
          {!isVague(error) && (
            <>
              <SplitBar split={split} trans={trans} />
              <SplitLegend
                split={split}
                error={errorOfParts(
                  now.overhead,
                  now.atLeast ? null : error,
                  trans
                )}
                trans={trans}
              />
            </>
          )}
        </div>
      )}
      <div className="jp-DtrainCluster-metric">
        <span className="jp-DtrainCluster-name">
          {trans.__('Communication')}
          <span>{trans.__('transfer + waiting')}</span>
        </span>
        <span>
          <b data-metric="overhead">
            {now.current
              ? shareWithoutError(now.overhead, now.atLeast ? null : error)
              : UNKNOWN}
          </b>{' '}
          <small>{communicationWords(now, metrics.measured, trans)}</small>
        </span>
        <Sparkline
          values={communicationLines(recent, now.atLeast).estimate}
          label={trans.__('Communication of the last minutes')}
        />
      </div>
    </div>
  );
}

/** A short text on one line: below the dash, if not beside it. */
function together(text: string): string {
  return text.replace(/ /g, NBSP);
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
