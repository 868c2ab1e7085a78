import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { CommandIDs } from '../../commands';
import { Job } from '../../tokens';
import { formatRun } from '../../metrics/format';
import { Glyph } from '../../ui/icons/glyph';
import { CommandLink } from '../../ui/text/commandLink';
import { Filled } from '../../ui/text/filled';
import { openContextMenu } from '../../ui/menu';
import { menuOfJob } from './jobMenu';
import { FoldedColumns, Submitted } from './cells';
import { jobLine, resumedLine } from '../model/jobLines';
import { hasEnded, jobGlyph, jobState } from '../model/states';
import { ranFor, submittedAt } from '../model/texts';

/** A job in the list: name and state, with its progress below. */
export function JobRow(props: {
  job: Job;
  now: number;
  /** All known jobs, to distinguish jobs of the same name. */
  among: readonly Job[];
  /** Whether it is listed below its sweep. */
  below?: boolean;
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element {
  const { job, commands, trans, now } = props;
  const time = formatRun(ranFor(job, now), hasEnded(job));
  const line = jobLine(job, trans);
  const size = `${job.size.nodes} × ${job.size.ranks_per_node}`;
  return (
    <tr
      data-job={job.id}
      data-below={props.below || undefined}
      data-state={job.state}
      data-may={job.may.includes('delete') ? 'delete' : undefined}
      onContextMenu={event => openContextMenu(event, commands, menuOfJob(job))}
    >
      <td>
        <Glyph kind={jobGlyph(job)} label={jobState(job, trans)} />
        <div>
          <button
            type="button"
            className="jp-DtrainUi-name"
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
          <p className="jp-DtrainUi-under">
            <Filled
              text={resumedLine(job, props.among, trans, '%1')}
              parts={[
                job.state === 'succeeded' ? (
                  <CommandLink
                    key="notebook"
                    command={CommandIDs.openExecuted}
                    args={{ id: job.id, name: job.name }}
                    commands={commands}
                    title={trans.__('Open executed notebook')}
                  >
                    {line}
                  </CommandLink>
                ) : (
                  line
                )
              ]}
            />
          </p>
          <FoldedColumns profile={job.profile} size={size} time={time} />
        </div>
      </td>
      <td>
        {job.profile}
        <p className="jp-DtrainUi-under">{size}</p>
      </td>
      <Submitted at={job.created_at} text={submittedAt(job, props.among)} />
      <td className="jp-DtrainJob-number">{time}</td>
    </tr>
  );
}
