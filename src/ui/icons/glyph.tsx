import React from 'react';

import { GlyphKind } from '../../verdicts/glyphKind';

/** Paths: lines, filled, and on top of them in the background colour. */
interface IShape {
  line?: string;
  width?: number;
  dashes?: string;
  fill?: string;
  ink?: string;
}

/** A circle around the middle, as a path. */
function circle(radius: number): string {
  const arc = `a${radius} ${radius} 0 1 0`;
  return `M${8 - radius} 8${arc} ${2 * radius} 0${arc} ${-2 * radius} 0Z`;
}

const CROSS = 'M3.2 3.2l9.6 9.6M12.8 3.2l-9.6 9.6';
const SHAPES: Record<GlyphKind, IShape> = {
  starting: { line: circle(5.2), dashes: '2.4 1.7' },
  waiting: { line: `${circle(5.6)}M8 4.6V8l2.2 1.6` },
  todo: { line: circle(4.2) },
  // square: an idle cluster is a ring
  stopped: { line: 'M3.8 3.8h8.4v8.4H3.8Z' },
  cancelled: { line: `${circle(5.6)}M4.2 11.8l7.6-7.6` },
  idle: { line: circle(5.2) },
  busy: { fill: circle(5) },
  'in collective': { line: circle(5.2), fill: circle(2.1) },
  paused: { line: 'M5.5 3.5v9M10.5 3.5v9', width: 2.4 },
  slow: { fill: 'M8 1.6 14.4 8 8 14.4 1.6 8Z' },
  stuck: { fill: 'M8 1.8 15 14H1Z', ink: 'M8 6.2v3.6M8 11.6v.6' },
  lost: { line: CROSS, width: 2.2 },
  good: { fill: circle(6.6), ink: 'M5 8.2l2.2 2.2L11.2 6' },
  'partly good': { fill: circle(6.6), ink: 'M8 4.6v4.2M8 11.2v.2' },
  failed: {
    fill: circle(6.6),
    ink: 'M5.6 5.6l4.8 4.8M10.4 5.6l-4.8 4.8'
  },
  interrupted: { fill: circle(6.6), ink: 'M6 6h4v4H6Z' },
  off: { line: 'M5.5 2v3.5M10.5 2v3.5M4 5.5h8v2a4 4 0 0 1-8 0zM8 11.5V14' }
};

/**
 * A state as a shape, with its text for screen readers, unless the text is beside it. All kinds have the same
 * elements: states change several times a second, and changing an attribute is cheaper than an element.
 */
function AnyGlyph(props: { kind: GlyphKind; label: string }): JSX.Element {
  const { line, width, dashes, fill, ink } = SHAPES[props.kind];
  return (
    <svg
      className="jp-DtrainUi-glyph"
      data-kind={props.kind}
      viewBox="0 0 16 16"
      role={props.label ? 'img' : undefined}
      aria-label={props.label || undefined}
      aria-hidden={props.label ? undefined : true}
    >
      <title>{props.label || undefined}</title>
      <path d={line} strokeWidth={width} strokeDasharray={dashes} />
      <path d={fill} fill="currentColor" stroke="none" />
      <path d={ink} className="jp-DtrainUi-glyphInk" />
    </svg>
  );
}

export const Glyph = React.memo(AnyGlyph);
