import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { CommandIDs } from '../commands';
import { IClusters, Job } from '../tokens';
import { formatSpan } from '../ui/format';
import { Glyph } from '../ui/glyph';
import { openContextMenu } from '../ui/menu';
import { menuOfJob } from './jobmenu';
import { hasEnded, jobGlyph, jobLine, jobState, ranFor } from './words';

/** Jobs in the sidebar: the newest, with their state. */
export function JobSection(props: {
  model: IClusters;
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element {
  const { model, commands, trans } = props;
  return (
    <>
      <ul className="jp-DtrainUi-list">
        {model.jobs.slice(0, 6).map(job => (
          <li
            key={job.id}
            onContextMenu={event =>
              openContextMenu(event, commands, menuOfJob(job))
            }
          >
            <button
              type="button"
              className="jp-DtrainUi-listItem jp-DtrainJob-item"
              onClick={() =>
                void commands.execute(CommandIDs.openJob, {
                  id: job.id,
                  name: job.name
                })
              }
            >
              <Glyph kind={jobGlyph(job)} label={jobState(job, trans)} />
              <b title={job.name}>{job.name}</b>
              <span className="jp-DtrainJob-itemTime">
                {timeOf(job, trans)}
              </span>
              <span className="jp-DtrainUi-under" title={jobLine(job, trans)}>
                {jobLine(job, trans)}
              </span>
            </button>
          </li>
        ))}
      </ul>
      <p className="jp-DtrainUi-open">
        <button
          type="button"
          className="jp-DtrainUi-button"
          onClick={() => void commands.execute(CommandIDs.showJobs)}
        >
          {trans.__('All jobs')}
        </button>
      </p>
    </>
  );
}

/** How long it has run; when it ended; or that it has not begun. */
function timeOf(job: Job, trans: TranslationBundle): string {
  if (hasEnded(job) && job.ended_at !== null) {
    return clock.format(job.ended_at * 1000);
  }
  const ran = ranFor(job, Date.now());
  return ran === null ? jobState(job, trans) : formatSpan(ran);
}

const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit'
});
