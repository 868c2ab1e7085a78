import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { formatAgo } from '../../metrics/format';
import { sweepIcon } from '../../ui/icons/viewIcons';
import { moment } from '../model/texts';

/** The cell of a row that says when it was submitted, and how long ago in its tooltip. */
export function Submitted(props: { at: number; text?: string }): JSX.Element {
  const date = new Date(props.at * 1000);
  return (
    <td>
      <time dateTime={date.toISOString()} title={formatAgo(date)}>
        {props.text ?? moment(props.at)}
      </time>
    </td>
  );
}

/** Marks the row of a sweep: it often has the name of its notebook, as jobs have. */
export function SweepMark(props: { trans: TranslationBundle }): JSX.Element {
  return (
    <span className="jp-DtrainJob-sweepMark">
      <sweepIcon.react tag="span" aria-hidden />
      {props.trans.__('Sweep')}
    </span>
  );
}

/** What is below a job where there is no room for columns: profile and size, and in a very narrow list the time. */
export function FoldedColumns(props: {
  profile: string;
  size: string;
  time: string;
}): JSX.Element {
  const { profile, size, time } = props;
  return (
    <p className="jp-DtrainUi-under jp-DtrainJob-foldedColumns">
      {profile} · {size}
      <span className="jp-DtrainJob-foldedTime"> · {time}</span>
    </p>
  );
}
