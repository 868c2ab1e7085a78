import React from 'react';

/** Small drawings of actions, in the colour of the text. */
export type IconKind =
  'add' | 'submit' | 'more' | 'start' | 'lock' | 'advice' | 'search' | 'pause';

const SHAPES: Record<IconKind, string> = {
  add: 'M8 2.5v11M2.5 8h11',
  submit: 'M14 2 2 7l4.2 2.2L14 2 8.8 14l-2.6-4.8',
  more: 'M3 8h.01M8 8h.01M13 8h.01',
  start: 'M5 3l7 5-7 5Z',
  lock: 'M4 7.5h8v6H4zM5.5 7.5v-2a2.5 2.5 0 0 1 5 0v2',
  advice: 'M5.5 9.5a3.7 3.7 0 1 1 5 0V11h-5zM6 13.5h4',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.4 10.4l3.4 3.4',
  pause: 'M5.5 3.5v9M10.5 3.5v9'
};

/** A decorative drawing beside text, or in a button with a name. */
export function Icon(props: { kind: IconKind }): JSX.Element {
  return (
    <svg
      className="jp-DtrainUi-icon"
      data-kind={props.kind}
      viewBox="0 0 16 16"
      aria-hidden="true"
    >
      <path d={SHAPES[props.kind]} />
    </svg>
  );
}
