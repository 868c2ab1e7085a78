import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { CommandIDs } from '../../commands';
import { Job, JobMetrics } from '../../tokens';
import { Fact, FactLine } from '../../ui/lists/factList';
import { CommandLink } from '../../ui/text/commandLink';
import { batchFact } from '../../metrics/batch';
import { shownMetrics } from '../../metrics/currentMetrics';
import { formatValue } from '../../metrics/format';
import { lastShare, shareInText } from '../../metrics/share';
import { labelOf } from '../fields/labels';
import { hasEnded } from '../model/states';
import { moment } from '../model/texts';
import { IParentJob } from './parentJob';

/** Facts about a job: place, size, times, how it ended. */
export function Facts(props: {
  job: Job;
  /** The job that it continues. */
  parent: IParentJob;
  metrics: JobMetrics | null;
  /** The latest values of `dt.log`, as in the headings of the charts. */
  values: Record<string, unknown>;
  trans: TranslationBundle;
  commands: CommandRegistry;
}): JSX.Element {
  const { job, trans } = props;
  const clock = (at: number | null): React.ReactNode =>
    at === null ? null : (
      <time
        dateTime={new Date(at * 1000).toISOString()}
        title={new Date(at * 1000).toLocaleString()}
      >
        {moment(at)}
      </time>
    );
  const { job: parent, isDeleted } = props.parent;
  const cells = job.progress.find(p => p.phase === 'cells');
  const facts: Fact[] = [
    [trans.__('Profile'), job.profile],
    [trans.__('Slurm job'), job.scheduler_id],
    [
      trans.__('Size'),
      trans._n(
        '%2 × %3 = %1 rank',
        '%2 × %3 = %1 ranks',
        job.world.size,
        job.size.nodes,
        job.size.ranks_per_node
      )
    ],
    [trans.__('Parameters'), listed(job.parameters)],
    [trans.__('Batch'), batchFact(job, trans)],
    [trans.__('Communication'), communication(job, props.metrics, trans)],
    [
      trans.__('Cells begun'),
      cells ? trans.__('%1 of %2', cells.done, cells.total) : null
    ],
    [trans.__('Submitted'), clock(job.created_at)],
    [trans.__('Started'), clock(job.started_at)],
    [trans.__('Ended'), clock(job.ended_at)],
    [trans.__('Exit code'), job.exit_code],
    [labelOf('notify', trans), endCommand(job, trans)],
    [trans.__('Attempt'), job.attempt ? job.attempt + 1 : null],
    [
      (job.resumed_step ?? null) === null
        ? trans.__('Started over after')
        : trans.__('Resumed from'),
      job.parent && isDeleted
        ? trans.__('%1 (deleted)', continuedText(job, parent, trans))
        : job.parent && (
            <CommandLink
              command={CommandIDs.openJob}
              args={{ id: job.parent }}
              commands={props.commands}
              className="jp-DtrainUi-link"
            >
              {continuedText(job, parent, trans)}
            </CommandLink>
          )
    ],
    [
      trans.__('Sweep'),
      job.sweep && (
        <CommandLink
          command={CommandIDs.openSweep}
          args={{ id: job.sweep }}
          commands={props.commands}
          className="jp-DtrainUi-link"
        >
          {sweepName(job)}
        </CommandLink>
      )
    ],
    ...loggedFacts(job, props.values, trans),
    [trans.__('Folder'), job.directory]
  ];
  return <FactLine facts={facts} />;
}

/** How the user's command for the job's end stands; null without one. */
function endCommand(job: Job, trans: TranslationBundle): string | null {
  const { exit_code: code } = job.end_command ?? {};
  if (code === undefined) {
    return null;
  }
  if (code === null) {
    return trans.__('running');
  }
  return code ? trans.__('failed, exit code %1', code) : trans.__('done');
}

/**
 * The job after which this one was submitted, its time, and the step of its checkpoint from which this one began. Its
 * name, if it is not known, is that of this one: a job that goes on with another keeps the name.
 */
function continuedText(
  job: Job,
  parent: Job | null,
  trans: TranslationBundle
): string {
  const name = parent
    ? trans.__('%1, %2', parent.name, moment(parent.created_at))
    : job.name;
  const step = job.resumed_step ?? null;
  return step === null
    ? name
    : trans.__('%1, at step %2', name, step.toLocaleString());
}

/** Communication in the latest steps, as a cluster's card has it; null where there is no throughput, either. */
function communication(
  job: Job,
  metrics: JobMetrics | null,
  trans: TranslationBundle
): string | null {
  const now = shownMetrics(job.metrics);
  // of a job that was cancelled, the head's last word may be that of a loop that runs
  const current = now.current && !hasEnded(job);
  if (!current && now.overhead !== null) {
    return lastShare({ ...now, current }, job.metrics.measured, trans);
  }
  const points = metrics?.history ?? [];
  const { comm_overhead: overhead, comm_overhead_error: error = null } =
    points[points.length - 1] ?? {};
  if (points.length < 2 || typeof overhead !== 'number') {
    return null;
  }
  return current
    ? shareInText(overhead, error, trans)
    : lastShare({ ...now, current, overhead, error }, false, trans);
}

function listed(values: Record<string, unknown>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${formatValue(value)}`)
    .join(', ');
}

/** The latest values of `dt.log`: those of rank 0, and those that are means over ranks. */
function loggedFacts(
  job: Job,
  values: Record<string, unknown>,
  trans: TranslationBundle
): [string, string][] {
  const { averaged } = job.metrics;
  const some = (wanted: (name: string) => boolean): string =>
    listed(
      Object.fromEntries(
        Object.entries(values).filter(([n]) => n !== 'step' && wanted(n))
      )
    );
  if (job.world.size < 2 || !averaged) {
    return [[trans.__('Logged'), some(() => true)]];
  }
  return [
    [trans.__('Logged by rank 0'), some(name => !averaged.includes(name))],
    [trans.__('Logged, mean over ranks'), some(name => averaged.includes(name))]
  ];
}

/** Name of the sweep that a job is a trial of: its own without the trial's number. */
function sweepName(job: Job): string {
  return job.name.replace(/ \d+$/, '');
}
