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
import { shownMetrics, throughputText } from '../../metrics/currentMetrics';
import {
  formatGiB,
  formatRate,
  formatValue,
  unbroken
} from '../../metrics/format';
import { median } from '../../metrics/ownTime';
import { alarmOf } from '../../verdicts/verdict';
import { hasEnded, isPaused, isUnwatched, jobState } from '../model/states';
import { namesIn, valuesOf } from './loggedCalls';

/** px; low, because the log is more important. */
const HEIGHT = 112;

/** Maximum number of charts of `dt.log` values; the history has all values. */
const MOST_VALUES = 4;

/** Seconds that a chart of an active job shows at least, and that of an ended one. */
const LEAST_SPAN = 5;
const LEAST_ENDED = 0.1;
/** A job's end is part of its charts if it comes no later after the last value than this share of their time. */
const END_SHARE = 0.3;
/** After more seconds without a value something else has happened, such as a hang: the charts show it. */
const END_SECONDS = 30;

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
  const all = [...times, ...own.flatMap(({ times }) => times)];
  const throughput = throughputOf(job, points, trans);
  const memory = memoryOf(job, points, trans);
  const chart = { times, ...axisOf(job, all, trans), marks: [], edges: true };
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
            {...throughput}
            label={trans.__('samples/s')}
            values={points.map(p => p.samples_per_s)}
            none={noSteps(job, points, trans)}
          />
          <JobChart
            {...chart}
            title={trans.__('Memory')}
            {...memory}
            about={trans.__('Maximum of all ranks')}
            label={trans.__('GiB')}
            none={trans.__('Nothing was measured.')}
            values={points.map(p =>
              p.memory_bytes === null ? null : p.memory_bytes / 2 ** 30
            )}
          />
        </>
      )}
      {own.map(({ name, times, values }) => {
        // as in the facts above
        const value = formatValue(values.filter(v => v !== null).pop());
        const { averaged } = job.metrics;
        const from = aggregateOf(name, averaged, job.world.size, trans);
        return (
          <JobChart
            {...chart}
            times={times}
            ofChange
            joined={logged.length > 0}
            key={name}
            title={name}
            value={value}
            words={from.text}
            brief={from.brief}
            label={name}
            values={values}
            none={trans.__('No values of %1.', name)}
            summary={trans.__('%1: %2, latest', name, value)}
          />
        );
      })}
    </div>
  );
}

/** Text of a chart of throughput without a value. */
function noSteps(
  job: Job,
  points: readonly { step_s?: number | null }[],
  trans: TranslationBundle
): string {
  // steps are timed, and nobody counts their samples
  return points.some(p => (p.step_s ?? null) !== null)
    ? trans.__('Unknown without a DataLoader or dt.step(samples)')
    : hasEnded(job)
      ? trans.__('No training steps were taken.')
      : trans.__('No training steps yet.');
}

/**
 * The heading of a job's throughput: while it trains the latest one, as a cluster's card does while it does not; of a
 * job that has ended the median, as its last seconds are not typical of it.
 */
function throughputOf(
  job: Job,
  points: readonly { samples_per_s: number | null }[],
  trans: TranslationBundle
): Pick<
  React.ComponentProps<typeof JobChart>,
  'value' | 'words' | 'brief' | 'past' | 'summary'
> {
  const rates = points.map(p => p.samples_per_s);
  if (hasEnded(job)) {
    const value = formatRate(median(rates.filter(rate => rate !== null)));
    return {
      value,
      words: trans.__('samples/s, median'),
      brief: trans.__('/s, median'),
      summary: trans.__('Throughput: %1 samples per second, median', value)
    };
  }
  const latest = formatRate(rates[rates.length - 1]);
  const now = shownMetrics(job.metrics);
  if (now.current && !isPaused(job)) {
    return {
      value: latest,
      words: trans.__('samples/s'),
      brief: trans.__('/s'),
      summary: trans.__('Throughput: %1 samples per second, latest', latest)
    };
  }
  const hung = alarmOf(job.metrics) !== null;
  const shown = throughputText({ ...now, current: false }, hung, trans);
  return {
    ...shown,
    past: !hung,
    summary: shown.value
      ? trans.__('Throughput: %1, %2', shown.value, shown.words)
      : trans.__('Throughput: %1', shown.words)
  };
}

/** The heading of a job's memory; if it is not that of now, in words. */
function memoryOf(
  job: Job,
  points: readonly { memory_bytes: number | null }[],
  trans: TranslationBundle
): Pick<
  React.ComponentProps<typeof JobChart>,
  'value' | 'words' | 'past' | 'summary'
> {
  const memory = formatGiB(points[points.length - 1]?.memory_bytes ?? null);
  const past =
    isUnwatched(job) ||
    (job.state === 'running' &&
      !job.metrics.current &&
      job.metrics.memory_bytes === null);
  return past
    ? {
        value: '',
        words: unbroken(trans.__('Last: %1 GiB', memory)),
        past,
        summary: trans.__('Memory: last %1 GiB, maximum of all ranks', memory)
      }
    : {
        value: memory,
        words: trans.__('GiB'),
        summary: trans.__(
          'Memory: %1 GiB, latest, maximum of all ranks',
          memory
        )
      };
}

/**
 * The time axis of a job's charts: from the first value to now or to the job's end, which is named there. What comes
 * after the last value of a short job, such as storing the notebook, would leave its curves no room: they end there.
 *
 * @param times - of all values, ms.
 */
function axisOf(
  job: Job,
  times: readonly number[],
  trans: TranslationBundle
): { window: number; until: number; end: string | null } {
  const began = times.reduce((a, b) => Math.min(a, b));
  if (!job.ended_at) {
    const until = Date.now();
    const window = Math.max(LEAST_SPAN, (until - began) / 1000);
    return { window, until, end: trans.__('now') };
  }
  const last = times.reduce((a, b) => Math.max(a, b));
  const ended = Math.max(last, job.ended_at * 1000);
  const rest = ended - last;
  const named = rest <= (last - began) * END_SHARE || rest > END_SECONDS * 1000;
  const until = named ? ended : last;
  const window = Math.max(LEAST_ENDED, (until - began) / 1000);
  return { window, until, end: named ? jobState(job, trans) : null };
}

/** A chart with its last value in the heading, which is brief: the whole is in its tooltips. */
function JobChart(
  props: Omit<React.ComponentProps<typeof TimeChart>, 'series' | 'height'> & {
    title: string;
    value: string;
    words: string;
    /** The words where the heading has little room; undefined for the same. */
    brief?: string;
    /** What the value is, where the heading has no room for it; undefined for its words. */
    about?: string;
    label: string;
    values: (number | null)[];
    /** Whether no steps are taken now: its line is grey. */
    past?: boolean;
  }
): JSX.Element {
  const { title, value, words, brief, about, label, values, past, ...chart } =
    props;
  return (
    <section className="jp-DtrainJob-chartBox">
      <h2>
        <span className="jp-DtrainJob-chartName" title={title}>
          {title}
        </span>
        <span
          className="jp-DtrainJob-chartValue"
          title={about ?? (words || undefined)}
        >
          {value && (
            <>
              <b>{value}</b>{' '}
            </>
          )}
          {brief === undefined || brief === words ? (
            words
          ) : (
            <>
              <span className="jp-DtrainJob-chartWords">{words}</span>
              <span className="jp-DtrainJob-chartBrief">{brief}</span>
            </>
          )}
        </span>
      </h2>
      <TimeChart
        {...chart}
        height={HEIGHT}
        series={[
          {
            label,
            values,
            colour: past ? '--jp-ui-font-color3' : '--jp-brand-color1'
          }
        ]}
      />
    </section>
  );
}
