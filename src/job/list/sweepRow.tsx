import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { CommandIDs } from '../../commands';
import { Job, Sweep } from '../../tokens';
import { formatRun } from '../../metrics/format';
import { Glyph } from '../../ui/icons/glyph';
import { CommandLink } from '../../ui/text/commandLink';
import { useViewState } from '../../ui/viewState';
import { openContextMenu } from '../../ui/menu';
import { JobRow } from './jobRow';
import { FoldedColumns, Submitted, SweepMark } from './cells';
import {
  menuOfSweep,
  sweepEnded,
  sweepGlyph,
  sweepSentence,
  sweepState
} from './sweeps';

/** A sweep in the list of jobs: one row, with the jobs of its trials folded below. */
export function SweepRow(props: {
  sweep: Sweep;
  /** Jobs of its trials. */
  trials: readonly Job[];
  /** Those of them that the filter finds, while the sweep itself does not match: only they are listed. */
  found: readonly Job[];
  now: number;
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element {
  const { sweep, trials, found, now, commands, trans } = props;
  const [open, setOpen] = useViewState(`open ${sweep.id}`, false);
  const size = trans._n(
    '%1 trial of %2 × %3',
    '%1 trials of %2 × %3',
    sweep.total,
    sweep.size.nodes,
    sweep.size.ranks_per_node
  );
  const time = formatRun(sweep.ran_s, sweepEnded(sweep));
  return (
    <>
      <tr
        data-sweep={sweep.id}
        data-state={sweep.state}
        data-may={sweep.may.includes('delete') ? 'delete' : undefined}
        onContextMenu={event =>
          openContextMenu(event, commands, menuOfSweep(sweep))
        }
      >
        <td>
          <Glyph kind={sweepGlyph(sweep)} label={sweepState(sweep, trans)} />
          <div>
            <CommandLink
              command={CommandIDs.openSweep}
              args={{ id: sweep.id, name: sweep.name }}
              commands={commands}
              className="jp-DtrainUi-name"
            >
              <b>{sweep.name}</b>
            </CommandLink>{' '}
            <SweepMark trans={trans} /> <span>{sweepState(sweep, trans)}</span>
            <p className="jp-DtrainUi-under">{sweepSentence(sweep, trans)}</p>
            <FoldedColumns profile={sweep.profile} size={size} time={time} />
            {trials.length > 0 && !found.length && (
              <button
                type="button"
                className="jp-DtrainUi-link"
                aria-expanded={open}
                onClick={() => setOpen(!open)}
              >
                {open
                  ? trans.__('Hide the jobs of %1', sweep.name)
                  : trans._n(
                      'Show %1 trial job',
                      'Show %1 trial jobs',
                      trials.length
                    )}
              </button>
            )}
          </div>
        </td>
        <td>
          {sweep.profile}
          <p className="jp-DtrainUi-under">{size}</p>
        </td>
        <Submitted at={sweep.created_at} />
        <td className="jp-DtrainJob-number">{time}</td>
      </tr>
      {(open && !found.length ? trials : found).map(job => (
        <JobRow
          key={job.id}
          job={job}
          among={trials}
          now={now}
          below
          commands={commands}
          trans={trans}
        />
      ))}
    </>
  );
}
