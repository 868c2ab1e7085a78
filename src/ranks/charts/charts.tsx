import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Cluster } from '../../tokens';
import { batchText, weakScaling } from '../../metrics/batch';
import {
  formatRate,
  formatShare,
  formatTime,
  unbroken
} from '../../metrics/format';
import { shownMetrics, throughputText } from '../../metrics/currentMetrics';
import { InView } from '../../ui/inView';
import { alarmOf } from '../../verdicts/verdict';
import { TimeChart } from './chart';
import { Communication, IChartsProps } from './communicationChart';

/** Throughput and communication, on the same time axis. */
export function Charts(props: IChartsProps): JSX.Element {
  return (
    <InView
      className="jp-DtrainUi-charts"
      draw={() => (
        <>
          <Throughput {...props} />
          <Communication {...props} />
        </>
      )}
    />
  );
}

/** Samples per second, and what they come from. */
function Throughput(props: IChartsProps): JSX.Element {
  const { cluster, points, axis, trans } = props;
  const { metrics } = cluster;
  const now = shownMetrics(metrics);
  // as in the panel
  const was =
    now.current || now.samples === null
      ? null
      : throughputText(now, alarmOf(metrics) !== null, trans);
  const rate = was ? was.value : formatRate(metrics.samples_per_s);
  const texts = was ? [was.words] : throughputTexts(metrics, trans);
  const batch = batchText(cluster, trans);
  // steps are timed, and nobody counts their samples
  const uncounted = now.samples === null && now.step !== null;
  return (
    <section>
      <h3>
        {trans.__('Throughput')}
        <span
          className="jp-DtrainRanks-chartMetrics"
          title={weakScaling(cluster, trans) ?? undefined}
        >
          {rate && <b>{rate}</b>}
          {texts.map(text => (
            <span key={text}>{text}</span>
          ))}
          {batch && <span>{batch}</span>}
        </span>
      </h3>
      <TimeChart
        {...axis}
        none={
          uncounted
            ? trans.__('Unknown without a DataLoader or dt.step(samples)')
            : axis.none
        }
        series={[
          {
            label: trans.__('samples/s'),
            values: points.map(p => p.samples),
            colour: '--jp-brand-color1'
          }
        ]}
        summary={
          was
            ? trans.__('Throughput: %1', `${was.value} ${was.words}`.trim())
            : trans.__('Throughput: %1 samples per second now', rate)
        }
      />
    </section>
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
