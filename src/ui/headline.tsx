import React from 'react';

import { unbroken } from '../metrics/format';

/** Where one sentence ends and the next begins. */
const BETWEEN = /(?<=[.!?])\s+/;

/** The headline of a state. If it does not fit in one line, lines break between sentences if possible. */
export function Headline(props: {
  text: string;
  /** Whether attention is needed: a screen reader is then interrupted. */
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
