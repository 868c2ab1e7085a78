import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { CommandIDs } from '../../commands';
import { Job } from '../../tokens';
import { Action } from '../../ui/actionButton';
import { hasEnded, unwatchedWhy } from '../model/states';
import { notebookFile, resumeWords } from '../model/texts';

/** Actions for a job, the most helpful first. */
export function Actions(props: {
  job: Job;
  commands: CommandRegistry;
  openNotebook: (path: string) => void;
  /** Why none of them can act now; null if they can. */
  why: string | null;
  trans: TranslationBundle;
}): JSX.Element {
  const { job, commands, trans } = props;
  const args = { id: job.id, name: job.name };
  const done = job.state === 'succeeded';
  const failed = job.state === 'failed' || job.state === 'lost';
  // the same code would fail again: it is looked at first
  const mend = job.fails_again;
  const debugs =
    failed && !!job.error?.cell && commands.hasCommand(CommandIDs.debugJob);
  const button = (
    command: string,
    label: string,
    may: boolean,
    primary = false,
    title?: string,
    why: string | null = null
  ): JSX.Element | null =>
    may && commands.hasCommand(command) ? (
      <Action
        label={label}
        primary={primary}
        title={title}
        why={props.why ?? why}
        onClick={() => void commands.execute(command, args)}
      />
    ) : null;
  const can = (what: string): boolean => job.may.includes(what);
  const unwatched = unwatchedWhy(job);
  const { label: resume, why: begins } = resumeWords(job, trans);
  return (
    <div className="jp-DtrainJob-actions">
      {button(
        CommandIDs.openExecuted,
        trans.__('Open executed notebook'),
        done,
        true
      )}
      {button(
        CommandIDs.debugJob,
        trans.__('Debug in a cluster'),
        debugs && mend,
        true
      )}
      {button(
        CommandIDs.resumeJob,
        resume,
        can('resume') && !done && !mend,
        true,
        begins
      )}
      {button(
        CommandIDs.duplicateJob,
        trans.__('Duplicate…'),
        can('duplicate')
      )}
      <button
        type="button"
        className={`jp-DtrainUi-button ${mend && !debugs ? 'jp-mod-primary' : ''}`}
        onClick={() => props.openNotebook(notebookFile(job))}
      >
        {trans.__('Open notebook')}
      </button>
      {button(
        CommandIDs.jobStacks,
        trans.__('Stacks'),
        (can('stacks') || !!unwatched) &&
          commands.hasCommand(CommandIDs.showStacks),
        false,
        undefined,
        unwatched
      )}
      {button(
        CommandIDs.debugJob,
        trans.__('Debug'),
        can('stacks') || !!unwatched,
        false,
        undefined,
        unwatched
      )}
      {button(
        CommandIDs.debugJob,
        trans.__('Debug in a cluster'),
        debugs && !mend
      )}
      {button(
        CommandIDs.openExecuted,
        trans.__('Open executed notebook'),
        hasEnded(job) && !done && job.started_at !== null
      )}
      {button(
        CommandIDs.resumeJob,
        resume,
        can('resume') && (done || mend),
        false,
        mend
          ? trans.__('The same code runs again, and may fail in the same way.')
          : begins
      )}
      {button(CommandIDs.cancelJob, trans.__('Cancel…'), can('cancel'))}
      {button(CommandIDs.deleteJob, trans.__('Delete…'), can('delete'))}
    </div>
  );
}
