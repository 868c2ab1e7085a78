import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React, { useEffect, useReducer, useState } from 'react';

import { CommandIDs } from '../commands';
import { IClusters, Job } from '../tokens';
import { formatSpan } from '../ui/format';
import { Glyph } from '../ui/glyph';
import { IMenuItem, openContextMenu } from '../ui/menu';
import { Jobs } from './model';
import { SlotsSection } from './slots';
import {
  hasEnded,
  jobGlyph,
  JobFilter,
  jobLine,
  jobState,
  passesFilter,
  passesText,
  ranFor
} from './words';

export interface IJobsProps {
  model: IClusters;
  jobs: Jobs;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

/** Rows drawn at first; the rest when asked for. */
const ROWS = 100;

type Order = 'name' | 'profile' | 'time';

/** What can be done with a job, as a menu. */
export function menuOfJob(job: Job): IMenuItem[] {
  const args = { id: job.id, name: job.name };
  const wanted: [string, boolean][] = [
    [CommandIDs.openJob, true],
    [CommandIDs.resumeJob, job.may.includes('resume')],
    [CommandIDs.duplicateJob, job.may.includes('duplicate')],
    [CommandIDs.cancelJob, job.may.includes('cancel')],
    [CommandIDs.deleteJob, job.may.includes('delete')]
  ];
  return wanted.filter(w => w[1]).map(([command]) => ({ command, args }));
}

/** All jobs: those that the server told lately, and older ones. */
export function useJobs(model: IClusters, jobs: Jobs): readonly Job[] {
  const [older, setOlder] = useState<readonly Job[]>([]);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    model.changed.connect(redraw);
    return () => {
      model.changed.disconnect(redraw);
    };
  }, [model]);
  const newest = model.jobs.map(j => j.id).join();
  useEffect(() => {
    let gone = false;
    const take = (found: readonly Job[]): void => {
      if (!gone) {
        setOlder(found);
      }
    };
    // without a server what is known stays
    jobs.all().then(take, () => undefined);
    return () => {
      gone = true;
    };
  }, [jobs, newest]);
  const live = new Set(model.jobs.map(j => j.id));
  return [...model.jobs, ...older.filter(j => !live.has(j.id))];
}

/** The list in the main area. */
export function JobList(props: IJobsProps): JSX.Element {
  const { model, jobs, commands, trans } = props;
  const all = useJobs(model, jobs);
  const [text, setText] = useState('');
  const [filter, setFilter] = useState<JobFilter>('all');
  const [order, setOrder] = useState<Order | null>(null);
  const [most, setMost] = useState(ROWS);
  const now = Date.now();
  const filters: [JobFilter, string][] = [
    ['all', trans.__('All')],
    ['active', trans.__('Active')],
    ['failed', trans.__('Failed')],
    ['done', trans.__('Done')]
  ];
  const shown = all.filter(
    j => passesFilter(j, filter) && passesText(j, text, trans)
  );
  if (order) {
    shown.sort((a, b) =>
      order === 'time'
        ? (ranFor(b, now) ?? 0) - (ranFor(a, now) ?? 0)
        : a[order].localeCompare(b[order])
    );
  }
  const active = all.filter(j => !hasEnded(j)).length;
  const head = (key: Order, label: string): JSX.Element => (
    <th
      scope="col"
      aria-sort={order === key ? 'ascending' : 'none'}
      className={`jp-Dtrain-jobs-${key}`}
    >
      <button
        type="button"
        onClick={() => setOrder(order === key ? null : key)}
      >
        {label} {order === key ? '▾' : ''}
      </button>
    </th>
  );
  return (
    <>
      <p className="jp-Dtrain-sentenceLine" role="status">
        {all.length === 0
          ? trans.__('No job was submitted yet.')
          : trans._n('%1 job is active.', '%1 jobs are active.', active)}
      </p>
      <div className="jp-Dtrain-viewHead">
        <input
          type="search"
          value={text}
          placeholder={trans.__('Name, state, profile')}
          aria-label={trans.__('Filter jobs')}
          onChange={event => setText(event.target.value)}
        />
        <button
          type="button"
          className="jp-Dtrain-button"
          onClick={() => void commands.execute(CommandIDs.submitNotebook)}
        >
          {trans.__('Submit…')}
        </button>
      </div>
      <SlotsSection {...props} />
      <div
        className="jp-Dtrain-chips"
        role="group"
        aria-label={trans.__('State')}
      >
        {filters.map(([key, label]) => (
          <button
            key={key}
            type="button"
            aria-pressed={filter === key}
            onClick={() => setFilter(key)}
          >
            {label} {all.filter(j => passesFilter(j, key)).length}
          </button>
        ))}
      </div>
      {all.length > 0 && (
        <table className="jp-Dtrain-jobs">
          <thead>
            <tr>
              {head('name', trans.__('Job'))}
              {head('profile', trans.__('Profile'))}
              {head('time', trans.__('Time'))}
            </tr>
          </thead>
          <tbody>
            {shown.slice(0, most).map(job => (
              <JobRow key={job.id} {...props} job={job} now={now} />
            ))}
          </tbody>
        </table>
      )}
      {shown.length > most && (
        <p className="jp-Dtrain-open">
          <button
            type="button"
            className="jp-Dtrain-button"
            onClick={() => setMost(most + 10 * ROWS)}
          >
            {trans.__('Show more of %1', shown.length)}
          </button>
        </p>
      )}
    </>
  );
}

function JobRow(props: IJobsProps & { job: Job; now: number }): JSX.Element {
  const { job, commands, trans, now } = props;
  const time = ranFor(job, now);
  return (
    <tr
      data-job={job.id}
      data-state={job.state}
      onContextMenu={event => openContextMenu(event, commands, menuOfJob(job))}
    >
      <td>
        <Glyph kind={jobGlyph(job)} label={jobState(job, trans)} />
        <div>
          <button
            type="button"
            className="jp-Dtrain-jobName"
            onClick={() =>
              void commands.execute(CommandIDs.openJob, {
                id: job.id,
                name: job.name
              })
            }
          >
            <b>{job.name}</b>
          </button>{' '}
          <span>{jobState(job, trans)}</span>
          <p className="jp-Dtrain-under">{jobLine(job, trans)}</p>
        </div>
      </td>
      <td>
        {job.profile}
        <p className="jp-Dtrain-under">
          {job.size.nodes} × {job.size.ranks_per_node}
        </p>
      </td>
      <td className="jp-Dtrain-number">
        {time === null ? '–' : formatSpan(time)}
      </td>
    </tr>
  );
}

/** Jobs in the sidebar: the newest, with their state. */
export function JobSection(props: {
  model: IClusters;
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element {
  const { model, commands, trans } = props;
  return (
    <>
      <ul className="jp-Dtrain-list">
        {model.jobs.slice(0, 6).map(job => (
          <li
            key={job.id}
            onContextMenu={event =>
              openContextMenu(event, commands, menuOfJob(job))
            }
          >
            <button
              type="button"
              className="jp-Dtrain-listItem"
              onClick={() =>
                void commands.execute(CommandIDs.openJob, {
                  id: job.id,
                  name: job.name
                })
              }
            >
              <Glyph kind={jobGlyph(job)} label={jobState(job, trans)} />
              <b>{job.name}</b>
              <span className="jp-Dtrain-under">{jobLine(job, trans)}</span>
            </button>
          </li>
        ))}
      </ul>
      <p className="jp-Dtrain-open">
        <button
          type="button"
          className="jp-Dtrain-button"
          onClick={() => void commands.execute(CommandIDs.showJobs)}
        >
          {trans.__('All jobs')}
        </button>
      </p>
    </>
  );
}
