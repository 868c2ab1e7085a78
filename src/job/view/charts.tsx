import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { numbers } from '../../cluster/model/metricsHistory';
import { TimeChart } from '../../ranks/charts/chart';
import {
  aggregateOf,
  loggedAt,
  namesOf
} from '../../ranks/charts/loggedValues';
import { Job, JobMetrics } from '../../tokens';
import {
  formatGiB,
  formatRate,
  formatValue,
  UNKNOWN
} from '../../metrics/format';
import { shareInText } from '../../metrics/share';
import { isPaused, jobState } from '../model/texts';
import { namesIn, valuesOf } from './loggedCalls';

/** px; low, because the log is more important. */
const HEIGHT = 112;

/** Maximum number of charts of `dt.log` values; the history has all values. */
const MOST_VALUES = 4;

/** Seconds that a chart shows at least. */
const LEAST_SPAN = 5;

/** Throughput, memory and logged values over the job's time; nothing where there is no line to draw. */
export function Charts(props: {
  job: Job;
  metrics: JobMetrics | null;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { job, metrics, trans } = props;
  // unknown values may be missing
  const points = (metrics?.history ?? []).map(p => ({
    ...p,
    at: p.at * 1000,
    samples_per_s: p.samples_per_s ?? null,
    memory_bytes: p.memory_bytes ?? null,
    comm_overhead: p.comm_overhead ?? null,
    comm_overhead_error: p.comm_overhead_error ?? null,
    values: numbers(p.values ?? {})
  }));
  const logged = metrics?.logged ?? [];
  // a job of an earlier version, or one that has logged nothing
  const names = logged.length ? namesIn(logged) : namesOf(points);
  const own = names.slice(0, MOST_VALUES).map(name => ({
    name,
    ...(logged.length ? valuesOf(logged, name) : loggedAt(points, name))
  }));
  const lines = points.length > 1;
  const times = points.map(p => p.at);
  if (!lines && !own.some(({ times }) => times.length > 1)) {
    return null;
  }
  const until = job.ended_at ? (job.ended_at + 2) * 1000 : Date.now();
  const began = Math.min(...times, ...own.flatMap(({ times }) => times));
  const span = Math.max(LEAST_SPAN, (until - began) / 1000 + 2);
  const last = points[points.length - 1];
  // the end of the job is marked there
  const end = job.ended_at ? undefined : trans.__('now');
  const marks = job.ended_at
    ? [{ at: job.ended_at * 1000, label: jobState(job, trans) }]
    : [];
  const chart = { times, window: span, until, marks, end };
  return (
    <div
      className="jp-DtrainUi-charts"
      role="group"
      aria-label={trans.__('Charts')}
    >
      {lines && (
        <>
          <JobChart
            {...chart}
            title={trans.__('Throughput')}
            value={isPaused(job) ? UNKNOWN : formatRate(last.samples_per_s)}
            words={trans.__(
              'samples/s, communication %1',
              shareInText(last.comm_overhead, last.comm_overhead_error, trans)
            )}
            label={trans.__('samples/s')}
            values={points.map(p => p.samples_per_s)}
            summary={trans.__(
              'Throughput: %1 samples per second, latest',
              formatRate(last.samples_per_s)
            )}
          />
          <JobChart
            {...chart}
            title={trans.__('Memory')}
            value={formatGiB(last.memory_bytes)}
            words={trans.__('GiB, the rank with most')}
            label={trans.__('GiB')}
            values={points.map(p =>
              p.memory_bytes === null ? null : p.memory_bytes / 2 ** 30
            )}
            summary={trans.__(
              'Memory: %1 GiB, latest',
              formatGiB(last.memory_bytes)
            )}
          />
        </>
      )}
      {own.map(({ name, times, values }) => {
        // as in the facts above
        const value = formatValue(values.filter(v => v !== null).pop());
        return (
          <JobChart
            {...chart}
            times={times}
            ofChange
            joined={logged.length > 0}
            key={name}
            title={name}
            value={value}
            words={aggregateOf(
              name,
              job.metrics.averaged,
              job.world.size,
              trans
            )}
            label={name}
            values={values}
            summary={trans.__('%1: %2, latest', name, value)}
          />
        );
      })}
    </div>
  );
}

/** A chart with its last value in the heading. */
function JobChart(
  props: Omit<React.ComponentProps<typeof TimeChart>, 'series' | 'height'> & {
    title: string;
    value: string;
    words: string;
    label: string;
    values: (number | null)[];
  }
): JSX.Element {
  const { title, value, words, label, values, ...chart } = props;
  return (
    <section className="jp-DtrainJob-chartBox">
      <h2>
        {title}
        <span>
          <b>{value}</b> {words}
        </span>
      </h2>
      <TimeChart
        {...chart}
        height={HEIGHT}
        series={[{ label, values, colour: '--jp-brand-color1' }]}
      />
    </section>
  );
}
