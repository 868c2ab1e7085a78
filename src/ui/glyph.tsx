import React from 'react';

/** All glyphs; their shape tells the state, colour repeats it. */
export type GlyphKind =
  | 'starting'
  | 'idle'
  | 'busy'
  | 'in collective'
  | 'paused'
  | 'slow'
  | 'stuck'
  | 'lost'
  | 'good'
  | 'failed'
  | 'off'
  | 'todo';

const SHAPES: Record<GlyphKind, JSX.Element> = {
  starting: <circle cx="8" cy="8" r="5.2" strokeDasharray="2.4 1.7" />,
  todo: <circle cx="8" cy="8" r="4.2" />,
  idle: <circle cx="8" cy="8" r="5.2" />,
  busy: <circle cx="8" cy="8" r="5" fill="currentColor" stroke="none" />,
  'in collective': (
    <>
      <circle cx="8" cy="8" r="5.2" />
      <circle cx="8" cy="8" r="2.1" fill="currentColor" stroke="none" />
    </>
  ),
  paused: <path d="M5.5 3.5v9M10.5 3.5v9" strokeWidth="2.4" />,
  slow: (
    <path d="M8 1.6 14.4 8 8 14.4 1.6 8Z" fill="currentColor" stroke="none" />
  ),
  stuck: (
    <>
      <path d="M8 1.8 15 14H1Z" fill="currentColor" stroke="none" />
      <path d="M8 6.2v3.6M8 11.6v.6" className="jp-Dtrain-glyphInk" />
    </>
  ),
  lost: <path d="M3.2 3.2l9.6 9.6M12.8 3.2l-9.6 9.6" strokeWidth="2.2" />,
  good: (
    <>
      <circle cx="8" cy="8" r="6.6" fill="currentColor" stroke="none" />
      <path d="M5 8.2l2.2 2.2L11.2 6" className="jp-Dtrain-glyphInk" />
    </>
  ),
  failed: (
    <>
      <circle cx="8" cy="8" r="6.6" fill="currentColor" stroke="none" />
      <path
        d="M5.6 5.6l4.8 4.8M10.4 5.6l-4.8 4.8"
        className="jp-Dtrain-glyphInk"
      />
    </>
  ),
  off: <path d="M5.5 2v3.5M10.5 2v3.5M4 5.5h8v2a4 4 0 0 1-8 0zM8 11.5V14" />
};

/** A state as a shape, with its word for those who can't see it. */
export function Glyph(props: { kind: GlyphKind; label: string }): JSX.Element {
  return (
    <svg
      className="jp-Dtrain-glyph"
      data-kind={props.kind}
      viewBox="0 0 16 16"
      role="img"
      aria-label={props.label}
    >
      <title>{props.label}</title>
      {SHAPES[props.kind]}
    </svg>
  );
}
