import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { CommandIDs } from '../../commands';
import { ILiveState, ISweeps, Job, Sweep } from '../../tokens';
import { formatCount, formatSpan, UNKNOWN } from '../../metrics/format';
import { Glyph } from '../../ui/icons/glyph';
import { GlyphKind } from '../../verdicts/glyphKind';
import { IMenuItem, openContextMenu } from '../../ui/menu';
import { latestDataAt } from '../../ui/lastUpdate';
import { SweepMark } from './cells';
import { entriesOf } from './entries';
import { menuOfJob } from './jobMenu';
import {
  menuOfSweep,
  sweepGlyph,
  sweepSentence,
  sweepState,
  useSweeps
} from './sweeps';
import { activeCounts, withState } from '../model/activeJobs';
import { rowLine } from '../model/jobLines';
import { hasEnded, jobGlyph, jobState } from '../model/states';
import { moment, ranFor } from '../model/texts';

/** Rows in the sidebar. */
const SHOWN = 6;

/** Jobs and sweeps in the sidebar: the newest, with their state. */
export function JobSection(props: {
  model: ILiveState;
  /** Null in a front end without sweeps. */
  sweeps: ISweeps | null;
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element {
  const { model, sweeps, commands, trans } = props;
  const entries = entriesOf(
    model.jobs,
    useSweeps(sweeps, model.jobs, model.sweeps)
  );
  const now = latestDataAt(model);
  return (
    <>
      <ul className="jp-DtrainUi-list">
        {entries
          .slice(0, SHOWN)
          .map(entry =>
            entry.kind === 'job' ? (
              <Item
                key={entry.key}
                open={CommandIDs.openJob}
                of={entry.job}
                kind={jobGlyph(entry.job)}
                state={jobState(entry.job, trans)}
                line={rowLine(entry.job, model.jobs, trans)}
                time={timeOf(entry.job, now, trans)}
                times={timesOf(entry.job, trans)}
                menu={menuOfJob(entry.job)}
                commands={commands}
              />
            ) : (
              <Item
                key={entry.key}
                open={CommandIDs.openSweep}
                of={entry.sweep}
                mark={<SweepMark trans={trans} />}
                kind={sweepGlyph(entry.sweep)}
                state={sweepState(entry.sweep, trans)}
                line={sweepSentence(entry.sweep, trans)}
                time={timeOfSweep(entry.sweep, trans)}
                times={timesOf(entry.sweep, trans)}
                menu={menuOfSweep(entry.sweep)}
                commands={commands}
              />
            )
          )}
      </ul>
      {commands.hasCommand(CommandIDs.showJobs) && (
        <p className="jp-DtrainUi-open">
          <button
            type="button"
            className="jp-DtrainUi-button"
            onClick={() => void commands.execute(CommandIDs.showJobs)}
          >
            {trans.__('All jobs')}
          </button>
        </p>
      )}
    </>
  );
}

/** A row: name and time, with its progress below. */
function Item(props: {
  /** The command that opens it. */
  open: string;
  of: Job | Sweep;
  /** What says that it is not a job. */
  mark?: JSX.Element;
  kind: GlyphKind;
  state: string;
  line: string;
  time: string;
  /** When it was submitted, and when it has ended; undefined before that. */
  times: string | undefined;
  menu: IMenuItem[];
  commands: CommandRegistry;
}): JSX.Element {
  const { commands, of } = props;
  return (
    <li onContextMenu={event => openContextMenu(event, commands, props.menu)}>
      <button
        type="button"
        className="jp-DtrainUi-listItem jp-DtrainJob-item"
        disabled={!commands.hasCommand(props.open)}
        onClick={() =>
          void commands.execute(props.open, { id: of.id, name: of.name })
        }
      >
        <Glyph kind={props.kind} label={props.state} />
        <span className="jp-DtrainJob-itemName">
          <b title={of.name}>{of.name}</b>
          {props.mark}
        </span>
        <span className="jp-DtrainJob-itemTime" title={props.times}>
          {props.time}
        </span>
        <span className="jp-DtrainUi-under" title={props.line}>
          {props.line}
        </span>
      </button>
    </li>
  );
}

/** For how long its trials have run, or its state before the first one starts; when it has ended. */
function timeOfSweep(sweep: Sweep, trans: TranslationBundle): string {
  if (sweep.ended_at !== null) {
    return moment(sweep.ended_at);
  }
  return sweep.ran_s === null
    ? sweepState(sweep, trans)
    : formatSpan(sweep.ran_s);
}

/** Its duration, or that it has not started; when it has ended. */
function timeOf(job: Job, now: number, trans: TranslationBundle): string {
  if (hasEnded(job)) {
    return job.ended_at === null ? UNKNOWN : moment(job.ended_at);
  }
  const ran = ranFor(job, now);
  return ran === null ? jobState(job, trans) : formatSpan(ran);
}

function timesOf(
  of: Pick<Job | Sweep, 'created_at' | 'ended_at'>,
  trans: TranslationBundle
): string | undefined {
  return of.ended_at === null
    ? undefined
    : trans.__(
        'Ended %1, submitted %2',
        moment(of.ended_at),
        moment(of.created_at)
      );
}

/** Number of active jobs, for the section's heading. */
export function jobNote(
  model: ILiveState,
  trans: TranslationBundle,
  stopped: readonly Sweep[] = []
): string {
  const counts = activeCounts(model, stopped);
  const active = counts.jobs + counts.sweeps;
  if (active) {
    return withState(formatCount(active), counts, trans);
  }
  return model.jobs.length || model.link === 'lost' ? '' : trans.__('none');
}
