import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Job } from '../../tokens';
import { Filled } from '../../ui/text/filled';

/** That the user's command for a job's end has failed, with its last output; the job itself is as it ended. */
export function EndCommandFailure(props: {
  job: Job;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { job, trans } = props;
  const { command, exit_code: code, output } = job.end_command ?? {};
  if (!code) {
    return null;
  }
  return (
    <div className="jp-DtrainJob-endCommand">
      <p role="status">
        <Filled
          text={trans.__(
            'The command that ran when the job ended failed with exit code %2: %1',
            '%1',
            code
          )}
          parts={[<code key="command">{command}</code>]}
        />
      </p>
      {output && (
        <pre tabIndex={0} aria-label={trans.__('Last output of the command')}>
          {output}
        </pre>
      )}
    </div>
  );
}
