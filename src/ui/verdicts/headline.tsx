import React from 'react';

import { unbroken } from '../figures/format';

/** Where one sentence ends and the next begins. */
const BETWEEN = /(?<=[.!?])\s+/;

/** How things stand. Where there is not room for all of it, a line ends with a sentence, if it can. */
export function Headline(props: {
  text: string;
  /** Somebody is needed: a screen reader is interrupted. */
  alert: boolean;
}): JSX.Element {
  return (
    <p role={props.alert ? 'alert' : 'status'}>
      {unbroken(props.text)
        .split(BETWEEN)
        .map((text, i) => (
          <React.Fragment key={i}>
            {i > 0 && ' '}
            <span>{text}</span>
          </React.Fragment>
        ))}
    </p>
  );
}
