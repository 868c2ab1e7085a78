import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Cluster, IPoint } from '../../tokens';
import { batchText, weakScaling } from '../../metrics/batch';
import { communicationLines } from '../../metrics/communicationLines';
import {
  formatClock,
  formatRate,
  formatShare,
  formatTime,
  unbroken,
  UNKNOWN
} from '../../metrics/format';
import { shownMetrics } from '../../metrics/currentMetrics';
import {
  errorOfParts,
  isVague,
  lastShare,
  plusMinus,
  shareAsKnown,
  vagueText
} from '../../metrics/share';
import { splitOf } from '../../metrics/split';
import { InView } from '../../ui/inView';
import { alarmOf } from '../../verdicts/verdict';
import { TimeChart } from './chart';
import { IMark } from './marks';
import { rebuilds } from '../model/rankMetrics';

/** The time axis that all charts of a view share. */
export interface IAxis {
  times: readonly number[];
  marks: readonly IMark[];
  /** s */
  window: number;
  /** ms */
  until: number;
  /** Text at its end; null for the time. */
  end: string | null;
  /** Text of a chart without a value. */
  none: string;
}

/**
 * The axis of these points.
 *
 * @param earlier - points before it.
 * @param until - its end, ms.
 * @param over - whether the cluster has ended, so that this is not now.
 */
export function axisOf(
  points: readonly IPoint[],
  earlier: readonly IPoint[],
  minutes: number,
  until: number,
  over: boolean,
  trans: TranslationBundle
): IAxis {
  return {
    times: points.map(p => p.at),
    marks: [
      ...rebuilds(points).map(at => ({ at, label: trans.__('rebuilt') })),
      ...points.flatMap(({ at, slowed }) =>
        slowed.map(rank => ({
          at,
          label: trans.__('rank %1 slows down', rank)
        }))
      )
    ],
    window: minutes * 60,
    until,
    end: over ? null : trans.__('now'),
    none: noSteps(earlier, trans)
  };
}

/** Text of a chart for a period without steps; empty if there were none before it, either. */
function noSteps(earlier: readonly IPoint[], trans: TranslationBundle): string {
  const last = earlier.filter(p => p.samples !== null).pop();
  return last
    ? trans.__(
        'No steps in this period; the last were at %1.',
        formatClock(last.at)
      )
    : '';
}

interface IChartsProps {
  cluster: Cluster;
  points: readonly IPoint[];
  axis: IAxis;
  trans: TranslationBundle;
}

/** Throughput and communication, on the same time axis. */
export function Charts(props: IChartsProps): JSX.Element {
  return (
    <InView
      className="jp-DtrainUi-charts"
      draw={() => <Sections {...props} />}
    />
  );
}

function Sections(props: IChartsProps): JSX.Element {
  const { cluster, points, axis, trans } = props;
  const { metrics } = cluster;
  const error = metrics.comm_overhead_error;
  const now = shownMetrics(metrics);
  const was = !now.current && now.samples !== null;
  // as in the panel: nothing is trained while ranks are stuck
  const rate = was
    ? alarmOf(metrics)
      ? '0'
      : UNKNOWN
    : formatRate(metrics.samples_per_s);
  const batch = batchText(cluster, trans);
  const vague = now.overhead !== null && isVague(now.error);
  const atLeast = metrics.comm_bound === 'lower';
  const share = !now.current
    ? UNKNOWN
    : vague
      ? ''
      : shareAsKnown(metrics.comm_overhead, atLeast ? null : error);
  const off = plusMinus(metrics.comm_overhead, error);
  const split = splitOf(metrics);
  const apart = errorOfParts(
    metrics.comm_overhead,
    atLeast ? null : error,
    trans
  );
  const lines = communicationLines(points, atLeast);
  // if no steps are taken now, the panel's text
  const ofStep =
    lastShare(now, metrics.measured, trans) ??
    (vague
      ? vagueText(trans)
      : atLeast
        ? trans.__('of the step, or more')
        : off
          ? trans.__('%1 of the step', off)
          : trans.__('of the step'));
  return (
    <>
      <section>
        <h3>
          {trans.__('Throughput')}
          <span
            className="jp-DtrainRanks-chartMetrics"
            title={weakScaling(cluster, trans) ?? undefined}
          >
            <b>{rate}</b>
            {(was
              ? [wasText(metrics, now.samples, trans)]
              : throughputTexts(metrics, trans)
            ).map(text => (
              <span key={text}>{text}</span>
            ))}
            {batch && <span>{batch}</span>}
          </span>
        </h3>
        <TimeChart
          {...axis}
          series={[
            {
              label: trans.__('samples/s'),
              values: points.map(p => p.samples),
              colour: '--jp-brand-color1'
            }
          ]}
          summary={trans.__('Throughput: %1 samples per second now', rate)}
        />
      </section>
      <section>
        <h3>
          <span className="jp-DtrainRanks-chartName">
            {trans.__('Communication')}
            {split && (
              <span className="jp-DtrainUi-legend">
                {/* its parts are as uncertain as their sum */}
                <span data-part="transfer">
                  {vague
                    ? trans.__('transfer')
                    : trans.__('transfer %1', formatShare(split.transfer))}
                </span>
                <span data-part="waiting">
                  {vague
                    ? trans.__('waiting')
                    : trans.__('waiting %1', formatShare(split.waiting))}
                </span>
                {lines.bounds && (
                  <span data-part="bound">
                    {boundText(lines.bounds, trans)}
                  </span>
                )}
                {apart && <small>{apart}</small>}
              </span>
            )}
          </span>
          <span title={`${share} ${ofStep}`.trim()}>
            <b>{share}</b> {ofStep}
          </span>
        </h3>
        <TimeChart
          {...axis}
          none={
            lines.vague
              ? trans.__('Communication was too unsteady to tell.')
              : axis.none
          }
          series={[
            {
              label: trans.__('bound'),
              values: lines.bound,
              colour: '--jp-ui-font-color1',
              dashed: true
            },
            {
              label: trans.__('with waiting'),
              values: lines.whole,
              colour: '--jp-warn-color1',
              hatched: true
            },
            {
              label: trans.__('transfer'),
              values: lines.transfer,
              colour: '--jp-brand-color1',
              filled: true
            }
          ]}
          format={formatShare}
          summary={trans.__('Communication: %1 of the step now', share)}
        />
      </section>
    </>
  );
}

/** What the dashed line is. */
function boundText(
  bounds: 'most' | 'least' | 'both',
  trans: TranslationBundle
): string {
  switch (bounds) {
    case 'most':
      return trans.__('at most');
    case 'least':
      return trans.__('at least');
    default:
      return trans.__('at most, or at least');
  }
}

/** The rate of the last steps, if none are taken now. */
function wasText(
  metrics: Cluster['metrics'],
  samples: number | null,
  trans: TranslationBundle
): string {
  return unbroken(
    alarmOf(metrics)
      ? trans.__('was %1 samples/s', formatRate(samples))
      : trans.__('last: %1 samples/s', formatRate(samples))
  );
}

/** Text beside the rate; "(a guess)" if samples or steps are guessed. */
function throughputTexts(
  metrics: Cluster['metrics'],
  trans: TranslationBundle
): string[] {
  const { tokens_per_s, epoch, step_s, unsure } = metrics;
  const parts = [
    unsure ? trans.__('samples/s (estimated)') : trans.__('samples/s'),
    tokens_per_s !== null && trans.__('%1 tokens/s', formatRate(tokens_per_s)),
    epoch !== null && epochText(epoch, trans),
    step_s !== null && trans.__('step %1', formatTime(step_s))
  ];
  return parts.filter(part => part !== false).map(unbroken);
}

function epochText(
  epoch: NonNullable<Cluster['metrics']['epoch']>,
  trans: TranslationBundle
): string {
  return epoch.total === null
    ? trans.__('epoch %1, batch %2', epoch.number, epoch.done)
    : trans.__(
        'epoch %1: %2',
        epoch.number,
        formatShare(epoch.done / epoch.total)
      );
}
