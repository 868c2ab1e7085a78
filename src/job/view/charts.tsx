import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { TimeChart } from '../../ranks/chart';
import { Job, JobMetrics } from '../../tokens';
import { formatGiB, formatRate, formatShare } from '../../ui/format';
import { jobState } from '../model/words';

/** px: the log is what people come for. */
const HEIGHT = 112;

/** Throughput and memory over the job's time; nothing before there are two points. */
export function Charts(props: {
  job: Job;
  metrics: JobMetrics | null;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { job, metrics, trans } = props;
  // what is not known may not be sent at all
  const points = (metrics?.history ?? []).map(p => ({
    ...p,
    samples_per_s: p.samples_per_s ?? null,
    memory_bytes: p.memory_bytes ?? null,
    comm_overhead: p.comm_overhead ?? null
  }));
  if (points.length < 2) {
    return null;
  }
  const times = points.map(p => p.at * 1000);
  const until = job.ended_at ? (job.ended_at + 2) * 1000 : Date.now();
  const span = Math.max(10, (until - times[0]) / 1000 + 2);
  const last = points[points.length - 1];
  // a job that has ended has its mark there
  const end = job.ended_at ? undefined : trans.__('now');
  const marks = job.ended_at
    ? [{ at: job.ended_at * 1000, label: jobState(job, trans) }]
    : [];
  return (
    <div className="jp-DtrainUi-charts">
      <section className="jp-DtrainJob-chartBox">
        <h2>
          {trans.__('Throughput')}
          <span>
            <b>{formatRate(last.samples_per_s)}</b>{' '}
            {trans.__(
              'samples/s · communication %1',
              formatShare(last.comm_overhead)
            )}
          </span>
        </h2>
        <TimeChart
          times={times}
          window={span}
          until={until}
          marks={marks}
          end={end}
          height={HEIGHT}
          series={[
            {
              label: trans.__('samples/s'),
              values: points.map(p => p.samples_per_s),
              colour: '--jp-brand-color1'
            }
          ]}
          summary={trans.__(
            'Throughput: %1 samples per second at last',
            formatRate(last.samples_per_s)
          )}
        />
      </section>
      <section className="jp-DtrainJob-chartBox">
        <h2>
          {trans.__('Memory')}
          <span>
            <b>{formatGiB(last.memory_bytes)}</b>{' '}
            {trans.__('GiB, the rank with most')}
          </span>
        </h2>
        <TimeChart
          times={times}
          window={span}
          until={until}
          marks={marks}
          end={end}
          height={HEIGHT}
          series={[
            {
              label: trans.__('GiB'),
              values: points.map(p =>
                p.memory_bytes === null ? null : p.memory_bytes / 2 ** 30
              ),
              colour: '--jp-brand-color1'
            }
          ]}
          summary={trans.__(
            'Memory: %1 GiB at last',
            formatGiB(last.memory_bytes)
          )}
        />
      </section>
    </div>
  );
}
