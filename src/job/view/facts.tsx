import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { CommandIDs } from '../../commands';
import { Job } from '../../tokens';
import { batchFact } from '../../ui/figures/batch';
import { formatValue } from '../../ui/figures/format';
import { moment } from '../model/words';

/** Facts about a job: place, size, times, how it ended. */
export function Facts(props: {
  job: Job;
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
  const cells = job.progress.find(p => p.phase === 'cells');
  const facts: [string, React.ReactNode][] = [
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
    [trans.__('Batch'), batchFact(job, trans)],
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
      job.begins_again
        ? trans.__('Started again, from the beginning, after')
        : trans.__('Started again from'),
      job.parent && (
        <button
          type="button"
          className="jp-DtrainUi-link"
          onClick={() =>
            void props.commands.execute(CommandIDs.openJob, {
              id: job.parent!
            })
          }
        >
          {job.parent}
        </button>
      )
    ],
    [
      trans.__('Sweep'),
      job.sweep && (
        <button
          type="button"
          className="jp-DtrainUi-link"
          onClick={() =>
            void props.commands.execute(CommandIDs.openSweep, {
              id: job.sweep!
            })
          }
        >
          {job.sweep}
        </button>
      )
    ],
    ...Object.entries(job.metrics.values)
      .filter(([name]) => name !== 'step')
      .map(([name, value]): [string, string] => [name, formatValue(value)]),
    [trans.__('Folder'), job.directory]
  ];
  return (
    <dl className="jp-DtrainJob-facts">
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
