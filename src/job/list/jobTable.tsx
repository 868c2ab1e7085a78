import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { Job } from '../../tokens';
import { useFirstRows } from '../../ui/lists/firstRows';
import { useViewState } from '../../ui/viewState';
import { Entry, foundTrials, Order, sortEntries } from './entries';
import { JobRow } from './jobRow';
import { useRowKeys } from './rowKeys';
import { SweepRow } from './sweepRow';

/** Jobs and sweeps that match the filters, as rows: the newest first, or sorted by a column. */
export function JobTable(props: {
  entries: readonly Entry[];
  /** All known jobs. */
  known: readonly Job[];
  /** The text that filters them. */
  text: string;
  now: number;
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element {
  const { entries, known, text, now, commands, trans } = props;
  const [order, setOrder] = useViewState<Order | null>('order', null);
  const shown = order ? sortEntries([...entries], order, now) : entries;
  const [first, more] = useFirstRows(shown, trans);
  const keys = useRowKeys(commands);
  const sorting = { order, choose: setOrder };
  return (
    <>
      <table className="jp-DtrainUi-table jp-DtrainJob-table">
        <thead>
          <tr>
            <Heading {...sorting} by="name" label={trans.__('Job')} />
            <Heading {...sorting} by="profile" label={trans.__('Profile')} />
            <Heading {...sorting} by={null} label={trans.__('Submitted')} />
            <Heading {...sorting} by="time" label={trans.__('Time')} />
          </tr>
        </thead>
        <tbody {...keys}>
          {first.map(entry =>
            entry.kind === 'job' ? (
              <JobRow
                key={entry.key}
                job={entry.job}
                among={known}
                now={now}
                commands={commands}
                trans={trans}
              />
            ) : (
              <SweepRow
                key={entry.key}
                sweep={entry.sweep}
                trials={entry.trials}
                found={foundTrials(entry, text, trans)}
                now={now}
                commands={commands}
                trans={trans}
              />
            )
          )}
        </tbody>
      </table>
      {shown.length === 0 && (
        <p className="jp-DtrainJob-noMatch" role="status">
          {trans.__('No job matches this filter.')}
        </p>
      )}
      {more}
    </>
  );
}

/** A column's heading, which sorts by it; chosen again, it sorts by the time of submission, as without a choice. */
function Heading(props: {
  /** The order that it chooses; null for the time of submission. */
  by: Order | null;
  label: string;
  order: Order | null;
  choose: (order: Order | null) => void;
}): JSX.Element {
  const { by, label, order, choose } = props;
  const chosen = order === by;
  const direction =
    by === 'name' || by === 'profile' ? 'ascending' : 'descending';
  return (
    <th
      scope="col"
      aria-sort={chosen ? direction : 'none'}
      className={`jp-DtrainJob-table-${by ?? 'submitted'}`}
    >
      <button type="button" onClick={() => choose(chosen ? null : by)}>
        {label} {chosen ? '▾' : ''}
      </button>
    </th>
  );
}
