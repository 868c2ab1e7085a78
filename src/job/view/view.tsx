import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { VerdictFacts } from '../../cluster/card/verdictFacts';
import { CommandIDs } from '../../commands';
import { IJobs, ILiveState, Job, JobMetrics } from '../../tokens';
import { Glyph } from '../../ui/icons/glyph';
import { JobsPast } from '../../ui/lastUpdate';
import { CommandLink } from '../../ui/text/commandLink';
import { Filled } from '../../ui/text/filled';
import { useViewState } from '../../ui/viewState';
import { busyNote } from '../../verdicts/texts';
import { Actions } from './actions';
import { Charts } from './charts';
import { EndCommandFailure } from './endCommand';
import { Facts } from './facts';
import { withLatest } from './latestValues';
import { useParentJob } from './parentJob';
import { useShownJob } from './shownJob';
import { OpenNotebook } from '../form/notebook';
import { JobLog } from '../log/log';
import { usePoll } from '../../ui/hooks/poll';
import { refusalOf } from '../model/refusal';
import { hasEnded, isPaused, jobGlyph, jobState } from '../model/states';
import { notebookFile } from '../model/texts';

const HISTORY_MS = 5000;

export interface IJobProps {
  id: string;
  model: ILiveState;
  jobs: IJobs;
  commands: CommandRegistry;
  trans: TranslationBundle;
  openNotebook: (...place: Parameters<OpenNotebook>) => void;
}

function useHistory(
  jobs: IJobs,
  id: string,
  job: Job | null,
  trans: TranslationBundle
): JobMetrics | null {
  const [metrics, setMetrics] = useViewState<JobMetrics | null>(
    'history',
    null
  );
  const ended = job !== null && hasEnded(job);
  usePoll(`metrics ${id} ${ended}`, HISTORY_MS, async () => {
    try {
      setMetrics(await jobs.metrics(id));
    } catch (failure) {
      // the job's own sentence says that it can't be reached
      throw refusalOf(failure, trans);
    }
    return !ended;
  });
  return metrics;
}

/** One job: sentence, actions, facts, history, log. */
export function JobBody(props: IJobProps): JSX.Element {
  const { jobs, commands, trans } = props;
  const { job, error } = useShownJob(props);
  const metrics = useHistory(jobs, props.id, job, trans);
  const parent = useParentJob(
    job?.parent ?? null,
    props.model.jobs,
    jobs,
    trans
  );
  if (!job) {
    return (
      <p className="jp-DtrainUi-note" role="status">
        {error || trans.__('Reading…')}
      </p>
    );
  }
  const { values, shown } = withLatest(
    job.metrics.values,
    metrics,
    props.model.at
  );
  const failed = job.state === 'failed' || job.state === 'lost';
  const at = job.error;
  const busy = job.metrics.verdicts.find(v => !v.headline);
  const note = busy && busyNote(busy, trans);
  const stuck =
    job.state === 'running' &&
    !isPaused(job) &&
    job.metrics.verdicts.find(v => v.standings.length > 0);
  // cells may have been added or removed since: the failing one is known by its id
  const openCell = (cell: string, line: number): void =>
    props.openNotebook(
      notebookFile(job),
      cell,
      line,
      cell === at?.cell ? at.cell_id : null
    );
  return (
    <>
      <JobsPast model={props.model} trans={trans} />
      <div className="jp-DtrainJob-head">
        <Glyph kind={jobGlyph(job)} label={jobState(job, trans)} />
        <div>
          <h1>
            <span role={failed ? 'alert' : 'status'}>{job.summary.text}</span>
          </h1>
          <p className="jp-DtrainUi-under jp-DtrainJob-subtitle">
            <span>
              {at?.cell && at.line ? (
                <Filled
                  text={trans.__(
                    '%1 · %2, %3, rank %4 on %5',
                    '%1',
                    '%2',
                    '%3',
                    at.rank,
                    '%4'
                  )}
                  parts={[
                    job.name,
                    notebookFile(job),
                    <button
                      key="cell"
                      type="button"
                      className="jp-DtrainUi-link"
                      onClick={() => openCell(at.cell!, at.line!)}
                    >
                      {trans.__('cell %1, line %2', at.cell, at.line)}
                    </button>,
                    at.node
                  ]}
                />
              ) : (
                trans.__('%1 · %2', job.name, notebookFile(job))
              )}
            </span>
            {job.state === 'running' && note && (
              // beside the name: a line of its own would move what is below as it comes and goes
              <span className="jp-DtrainJob-busy" title={note}>
                {note}
              </span>
            )}
          </p>
          {stuck && (
            <VerdictFacts
              verdict={stuck}
              world={job}
              submitted={notebookFile(job)}
              commands={commands}
              trans={trans}
            />
          )}
          {!failed && <Waiting job={job} commands={commands} trans={trans} />}
          <EndCommandFailure job={job} trans={trans} />
        </div>
      </div>
      <Actions
        {...props}
        job={job}
        why={
          props.model.link === 'lost'
            ? trans.__('No connection to the server.')
            : null
        }
      />
      <Facts
        job={job}
        parent={parent}
        metrics={metrics}
        values={values}
        trans={trans}
        commands={commands}
      />
      <Charts job={job} metrics={shown} trans={trans} />
      <JobLog jobs={jobs} job={job} trans={trans} openCell={openCell} />
    </>
  );
}

/** What a job waits for, and what one can do about it. */
function Waiting(
  props: Pick<IJobProps, 'commands' | 'trans'> & { job: Job }
): JSX.Element | null {
  const { job, commands, trans } = props;
  if (!job.reason) {
    return null;
  }
  const { code, message, hint } = job.reason;
  return (
    <p>
      {job.summary.text.includes(message) ? hint : `${message} ${hint}`}
      {code === 'slots' && (
        <>
          {' '}
          <CommandLink
            command={CommandIDs.showJobs}
            args={{ slots: job.profile }}
            commands={commands}
            className="jp-DtrainUi-link"
          >
            {trans.__('Show the slots')}
          </CommandLink>
        </>
      )}
    </p>
  );
}
