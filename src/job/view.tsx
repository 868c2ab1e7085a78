import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React, { useEffect, useReducer, useState } from 'react';

import { CommandIDs } from '../commands';
import { TimeChart } from '../ranks/chart';
import { RequestError } from '../request/rest';
import { IClusters, Job, JobMetrics } from '../tokens';
import { formatGiB, formatRate, formatShare } from '../ui/format';
import { Glyph } from '../ui/glyph';
import { JobLog } from './log';
import { Jobs } from './model';
import { hasEnded, jobGlyph, jobState } from './words';

const HISTORY_MS = 5000;

export interface IJobProps {
  id: string;
  model: IClusters;
  jobs: Jobs;
  commands: CommandRegistry;
  trans: TranslationBundle;
  openNotebook: (path: string, cell?: string, line?: number) => void;
}

function useJob(props: IJobProps): { job: Job | null; error: string } {
  const { id, model, jobs } = props;
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const [known, setKnown] = useState<Job | null>(null);
  const [error, setError] = useState('');
  useEffect(() => {
    model.changed.connect(redraw);
    return () => {
      model.changed.disconnect(redraw);
    };
  }, [model]);
  const live = model.jobs.find(j => j.id === id) ?? null;
  const state = live?.state;
  useEffect(() => {
    let gone = false;
    jobs.get(id).then(
      job => {
        if (!gone) {
          setKnown(job);
        }
      },
      failure => {
        if (!gone && failure instanceof RequestError) {
          setError(failure.message);
        }
      }
    );
    return () => {
      gone = true;
    };
  }, [jobs, id, state]);
  // a frame leaves the ranks of an ended job out
  const job = live && (live.ranks.length || !known) ? live : (known ?? live);
  return { job, error };
}

function useHistory(jobs: Jobs, job: Job | null): JobMetrics | null {
  const [metrics, setMetrics] = useState<JobMetrics | null>(null);
  const id = job?.id;
  const ended = job ? hasEnded(job) : false;
  useEffect(() => {
    if (!id) {
      return;
    }
    let gone = false;
    let timer = 0;
    const ask = async (): Promise<void> => {
      try {
        const found = await jobs.metrics(id);
        if (!gone) {
          setMetrics(found);
        }
      } catch (failure) {
        if (!(failure instanceof RequestError)) {
          throw failure;
        }
      }
      if (!gone && !ended) {
        timer = window.setTimeout(() => void ask(), HISTORY_MS);
      }
    };
    void ask();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [jobs, id, ended]);
  return metrics;
}

/** One job: sentence, actions, facts, history, log. */
export function JobBody(props: IJobProps): JSX.Element {
  const { jobs, commands, trans } = props;
  const { job, error } = useJob(props);
  const metrics = useHistory(jobs, job);
  if (!job) {
    return (
      <p className="jp-Dtrain-note" role="status">
        {error || trans.__('Reading …')}
      </p>
    );
  }
  const failed = job.state === 'failed' || job.state === 'lost';
  const at = job.error;
  const openCell = (cell: string, line: number): void =>
    props.openNotebook(job.notebook, cell, line);
  return (
    <>
      <div className="jp-Dtrain-jobHead">
        <Glyph kind={jobGlyph(job)} label={jobState(job, trans)} />
        <div>
          <h1 role={failed ? 'alert' : 'status'}>{job.summary.text}</h1>
          <p className="jp-Dtrain-under">
            {job.notebook}
            {at?.cell && at.line ? (
              <>
                ,{' '}
                <button
                  type="button"
                  className="jp-Dtrain-link"
                  onClick={() => openCell(at.cell!, at.line!)}
                >
                  {trans.__('cell %1, line %2', at.cell, at.line)}
                </button>
                , {trans.__('rank %1 on %2', at.rank, at.node)}
              </>
            ) : null}
          </p>
          {job.reason && !failed && (
            <p>
              {job.reason.message} {job.reason.hint}
            </p>
          )}
        </div>
      </div>
      <Actions {...props} job={job} commands={commands} />
      <Facts job={job} trans={trans} open={props} />
      <Charts job={job} metrics={metrics} trans={trans} />
      <JobLog jobs={jobs} job={job} trans={trans} openCell={openCell} />
    </>
  );
}

function Actions(props: IJobProps & { job: Job }): JSX.Element {
  const { job, commands, trans } = props;
  const args = { id: job.id, name: job.name };
  const button = (
    command: string,
    label: string,
    may: string,
    primary = false
  ): JSX.Element | null =>
    job.may.includes(may) ? (
      <button
        type="button"
        className={
          primary ? 'jp-Dtrain-button jp-mod-primary' : 'jp-Dtrain-button'
        }
        onClick={() => void commands.execute(command, args)}
      >
        {label}
      </button>
    ) : null;
  const step = job.checkpoint_step;
  return (
    <div className="jp-Dtrain-jobActions">
      {button(
        CommandIDs.resumeJob,
        step === null
          ? trans.__('Run again')
          : trans.__('Resume from step %1', step.toLocaleString()),
        'resume',
        job.state !== 'succeeded'
      )}
      {button(CommandIDs.duplicateJob, trans.__('Duplicate…'), 'duplicate')}
      <button
        type="button"
        className="jp-Dtrain-button"
        onClick={() => props.openNotebook(job.notebook)}
      >
        {trans.__('Open notebook')}
      </button>
      {button(CommandIDs.jobStacks, trans.__('Stacks'), 'stacks')}
      {commands.hasCommand(CommandIDs.debugJob) &&
        button(CommandIDs.debugJob, trans.__('Debug'), 'stacks')}
      {button(CommandIDs.cancelJob, trans.__('Cancel…'), 'cancel')}
      {button(CommandIDs.deleteJob, trans.__('Delete…'), 'delete')}
    </div>
  );
}

function Facts(props: {
  job: Job;
  trans: TranslationBundle;
  open: IJobProps;
}): JSX.Element {
  const { job, trans } = props;
  const clock = (at: number | null): string | null =>
    at === null ? null : new Date(at * 1000).toLocaleString();
  const cells = job.progress.find(p => p.phase === 'cells');
  const facts: [string, React.ReactNode][] = [
    [trans.__('Profile'), job.profile],
    [trans.__('Slurm job'), job.scheduler_id],
    [
      trans.__('Size'),
      trans.__(
        '%1 × %2 = %3 ranks',
        job.size.nodes,
        job.size.ranks_per_node,
        job.world.size
      )
    ],
    [
      trans.__('Cell'),
      cells ? trans.__('%1 of %2', cells.done, cells.total) : null
    ],
    [trans.__('Submitted'), clock(job.created_at)],
    [trans.__('Started'), clock(job.started_at)],
    [trans.__('Ended'), clock(job.ended_at)],
    [trans.__('Exit code'), job.exit_code],
    [trans.__('Attempt'), job.attempt ? job.attempt + 1 : null],
    [
      trans.__('Goes on from'),
      job.parent && (
        <button
          type="button"
          className="jp-Dtrain-link"
          onClick={() =>
            void props.open.commands.execute(CommandIDs.openJob, {
              id: job.parent!
            })
          }
        >
          {job.parent}
        </button>
      )
    ],
    ...Object.entries(job.metrics.values)
      .filter(([name]) => name !== 'step')
      .map(([name, value]): [string, string] => [
        name,
        typeof value === 'number' ? value.toPrecision(4) : String(value)
      ]),
    [trans.__('Folder'), job.directory]
  ];
  return (
    <dl className="jp-Dtrain-facts">
      {facts
        .filter(([, value]) => value !== null && value !== '')
        .map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

function Charts(props: {
  job: Job;
  metrics: JobMetrics | null;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { job, metrics, trans } = props;
  const points = metrics?.history ?? [];
  if (points.length < 2) {
    return null;
  }
  const times = points.map(p => p.at * 1000);
  const until = job.ended_at ? (job.ended_at + 2) * 1000 : Date.now();
  const span = Math.max(10, (until - times[0]) / 1000 + 2);
  const last = points[points.length - 1];
  const marks = job.ended_at
    ? [{ at: job.ended_at * 1000, label: jobState(job, trans) }]
    : [];
  return (
    <div className="jp-Dtrain-charts">
      <section className="jp-Dtrain-chartBox">
        <h2>
          {trans.__('Throughput, samples/s')}{' '}
          <b>{formatRate(last.samples_per_s)}</b>{' '}
          <span className="jp-Dtrain-under">
            {trans.__('communication %1', formatShare(last.comm_overhead))}
          </span>
        </h2>
        <TimeChart
          times={times}
          window={span}
          until={until}
          marks={marks}
          format={formatRate}
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
      <section className="jp-Dtrain-chartBox">
        <h2>
          {trans.__('Memory of the fullest rank, GiB')}{' '}
          <b>{formatGiB(last.memory_bytes)}</b>
        </h2>
        <TimeChart
          times={times}
          window={span}
          until={until}
          marks={marks}
          format={v => v.toFixed(1)}
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
